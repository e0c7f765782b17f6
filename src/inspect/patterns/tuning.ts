import { hash } from 'node:crypto';
import { type Confidence, confidences } from '../../core/call.ts';
import type { Detector } from './detector.ts';

/** What somebody wants of the detectors otherwise than they are. */
export interface Tuning {
  /** Ids of detectors that are not used. */
  readonly off: ReadonlySet<string>;
  /** Whether values that documentation prints as examples count; by default they are of low confidence. */
  readonly publishedExamples?: 'ignore' | 'count';
  /** By id of the detector, instead of its own. */
  readonly confidence: ReadonlyMap<string, Confidence>;
  /** SHA-256, in lower-case hex, of the bytes of texts that are known and no finding. */
  readonly allowSha256: ReadonlySet<string>;
}

/** The detector as it is wanted; undefined where it is not. */
export function tuneDetector(
  detector: Detector,
  { off, confidence, publishedExamples }: Tuning,
): Detector | undefined {
  if (off.has(detector.id)) return undefined;
  const wanted = confidence.get(detector.id);
  const examples = publishedExamples === 'count' ? ({ countsExamples: true } as const) : undefined;
  if (wanted === undefined) return examples ? { ...detector, ...examples } : detector;
  // What was said to be so sure is so by itself, and a failed check makes nothing surer than a passed one.
  const { failedCheck } = detector;
  const least = failedCheck === undefined || rank(failedCheck) < rank(wanted) ? failedCheck : wanted;
  return { ...detector, ...examples, confidence: wanted, failedCheck: least, needs: [] };
}

const rank = (confidence: Confidence): number => confidences.indexOf(confidence);

/** As `allowSha256` names a text. */
export const sha256Of = (text: Uint8Array): string => hash('sha256', text);
