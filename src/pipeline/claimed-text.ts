import type { DetectorEngine } from '../detectors/engine.ts';
import { decodeViews } from '../text/views.ts';

const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const never = (): boolean => false;
/** Enough for a short text in any form. */
const decoding = { maxDecodedBytes: 65_536, depthMax: 3 };

/**
 * What may be kept and shown of a short text in which a caller speaks of itself: without characters that steer a terminal or turn the
 * order of a line. Undefined where a detector finds something in it, whole or begun, as it is or decoded, or nothing is left.
 */
export function keptText(
  engine: DetectorEngine,
  text: string,
  isOver: () => boolean = never,
): string | undefined {
  const plain = text.replace(steering, '');
  const { views, unreadable } = decodeViews(Buffer.from(plain), { ...decoding, isOver });
  if (plain === '' || unreadable !== undefined) return undefined;
  for (const { bytes, outline } of views) {
    const { matches, cutTokens, complete } = engine.find(bytes, { matchesMax: 1, isOver }, outline);
    if (matches.length > 0 || !complete || cutTokens.some(({ missing }) => missing)) return undefined;
  }
  return plain;
}
