import { hash } from 'node:crypto';
import { type Confidence, confidences } from '../../core/call.ts';
import type { Detector } from './detector.ts';

/** The changes that a tenant makes to the detectors. */
export interface Tuning {
  /** The ids of detectors that are not used. */
  readonly off: ReadonlySet<string>;
  /** What becomes of published examples; undefined where they have low confidence. */
  readonly publishedExamples?: 'ignore' | 'count';
  /** The confidence by detector id, in place of the detector's own. */
  readonly confidence: ReadonlyMap<string, Confidence>;
  /** The SHA-256 digests, in lower-case hex, of texts that are no findings. */
  readonly allowSha256: ReadonlySet<string>;
}

/** Returns the detector with the changes; undefined where it is off. */
export function tuneDetector(
  detector: Detector,
  { off, confidence, publishedExamples }: Tuning,
): Detector | undefined {
  if (off.has(detector.id)) return undefined;
  const wanted = confidence.get(detector.id);
  const examples = publishedExamples === 'count' ? ({ countsExamples: true } as const) : undefined;
  if (wanted === undefined) return examples ? { ...detector, ...examples } : detector;
  // A set confidence holds without other findings nearby, and a failed check must not give more confidence
  // than a passed one.
  const { failedCheck } = detector;
  const least = failedCheck === undefined || rank(failedCheck) < rank(wanted) ? failedCheck : wanted;
  return { ...detector, ...examples, confidence: wanted, failedCheck: least, needs: [] };
}

const rank = (confidence: Confidence): number => confidences.indexOf(confidence);

/** Returns the digest by which `allowSha256` names a text. */
export const sha256Of = (text: Uint8Array): string => hash('sha256', text);
