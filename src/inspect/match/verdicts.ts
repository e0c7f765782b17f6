import type { Confidence } from '../../core/call.ts';
import { confidenceOf } from '../patterns/confidence.ts';
import type { Detector } from '../patterns/detector.ts';

/** Of all detectors together; what comes later is judged each time. */
const verdictsMax = 4096;

/** What was judged in a text and its decoded forms. They show the same secrets again, and a check may take longer than all the rest. */
export class Verdicts {
  readonly #verdictsOf = new Map<Detector, Map<string, Confidence | undefined>>();
  readonly #accepted = new Set<Detector>();
  #count = 0;

  /** Whether the detector's pattern has matched something. */
  hasMet(detector: Detector): boolean {
    return this.#verdictsOf.has(detector);
  }

  /** Whether some of that was not sent away. */
  hasAccepted(detector: Detector): boolean {
    return this.#accepted.has(detector);
  }

  /** As `confidenceOf`, of what the detector's pattern has matched; `undefined` as a secret is none. */
  confidenceOf(detector: Detector, secret: string | undefined): Confidence | undefined {
    const verdicts = this.#verdictsOf.get(detector) ?? new Map<string, Confidence | undefined>();
    this.#verdictsOf.set(detector, verdicts);
    if (!secret) return undefined;
    const known = verdicts.get(secret);
    if (known !== undefined || verdicts.has(secret)) return known;
    const confidence = confidenceOf(detector, secret);
    if (confidence !== undefined) this.#accepted.add(detector);
    if (this.#count < verdictsMax) {
      verdicts.set(secret, confidence);
      this.#count += 1;
    }
    return confidence;
  }
}
