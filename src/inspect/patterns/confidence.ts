import type { Confidence } from '../../core/call.ts';
import { type CheckName, checks, entropyBits } from '../checks/checks.ts';
import type { Detector } from './detector.ts';
import { isPlaceholder } from './placeholder.ts';
import { isPublishedExample } from './published-examples.ts';

/** The checks that no invented value passes by accident. */
export const proofs: ReadonlySet<CheckName | undefined> = new Set([
  'prefixed-crc',
  'postern-key',
  'jwt',
  'discord-token',
  'wif',
]);

/**
 * How much of a secret's start is compared with anchors. It is longer than any anchor, while a secret may
 * have kilobytes.
 */
const prefixLengthMax = 64;

/** Returns the confidence in a match; undefined where it is no finding, such as a published example. */
export function confidenceOf(detector: Detector, secret: string): Confidence | undefined {
  if (detector.isKnown) return detector.confidence;
  if (detector.entropyMin > 0 && entropyBits(secret) < detector.entropyMin && isDull(detector, secret))
    return undefined;
  const isPublished = isPublishedExample(detector, secret);
  if (isPublished && detector.countsExamples) return detector.confidence;
  if (isPublished) return detector.needs.length > 0 ? undefined : 'low';
  const isPassed = detector.check !== undefined && checks[detector.check](secret);
  const isProven = isPassed && proofs.has(detector.check);
  if (!isProven && detector.class === 'SECRETS' && isPlaceholder(secret, prefixLength(detector, secret)))
    return 'low';
  return isPassed || detector.check === undefined ? detector.confidence : detector.failedCheck;
}

/**
 * Tells whether the entropy is too low even where long repetitions count once. Repetitions behind a secret
 * must not hide it.
 */
function isDull({ entropyMin }: Detector, secret: string): boolean {
  return entropyBits(secret.replace(/(.)\1{3,}/g, '$1')) < entropyMin;
}

/** Returns the length of the anchor with which the secret begins; 0 where the anchor stands before it. */
function prefixLength({ anchors, isGeneric }: Detector, secret: string): number {
  if (isGeneric) return 0;
  const start = secret.slice(0, prefixLengthMax).toLowerCase();
  return Math.max(
    0,
    ...anchors.map((anchor) => (start.startsWith(anchor.toLowerCase()) ? anchor.length : 0)),
  );
}
