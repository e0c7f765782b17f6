import type { DetectorEngine } from '../detectors/engine.ts';

const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const never = (): boolean => false;

/**
 * What may be kept and shown of a short text in which a caller speaks of itself: without characters that steer a terminal or turn the
 * order of a line. Undefined where a detector finds something in it, or nothing is left.
 */
export function keptText(
  engine: DetectorEngine,
  text: string,
  isOver: () => boolean = never,
): string | undefined {
  const plain = text.replace(steering, '');
  const { matches, complete } = engine.find(Buffer.from(plain), { matchesMax: 1, isOver });
  return plain === '' || matches.length > 0 || !complete ? undefined : plain;
}
