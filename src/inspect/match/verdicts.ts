import type { Confidence } from '../../core/call.ts';
import { confidenceOf } from '../patterns/confidence.ts';
import type { Detector } from '../patterns/detector.ts';

/** Bound on the verdicts that are kept, of all detectors together. */
const verdictsMax = 4096;

/**
 * Keeps the verdicts on matches in a text and its decoded forms. The same secrets show again there, and a
 * check may take longer than the rest.
 */
export class Verdicts {
  readonly #verdictsOf = new Map<Detector, Map<string, Confidence | undefined>>();
  readonly #accepted = new Set<Detector>();
  #count = 0;

  /** Tells whether the detector's pattern has matched something. */
  hasMet(detector: Detector): boolean {
    return this.#verdictsOf.has(detector);
  }

  /** Tells whether one of the detector's matches was accepted. */
  hasAccepted(detector: Detector): boolean {
    return this.#accepted.has(detector);
  }

  /**
   * Returns the confidence in a match of the detector's pattern, as `confidenceOf` does. Returns undefined
   * where it is no secret.
   */
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
