import { createHash } from 'node:crypto';
import { stringEnds } from '../kernel/string-ends.ts';

/*
 * Finds checkpoints in bodies. A conversation sends all earlier turns again, and only its end is new.
 * Checkpoints are places behind strings of a JSON text, each with a key for everything before it. Two bodies
 * with an equal key are equal up to there.
 */

export interface Checkpoint {
  /** The number of bytes before it. */
  readonly end: number;
  /** The key of all these bytes and the seed. */
  readonly key: string;
}

/**
 * Bounds on the distance between checkpoints, in bytes, and on their number. The distance is shorter behind a
 * long string (a message or a file), where bodies most likely differ.
 */
const rule = { far: 4096, long: 1024, countMax: 8192 };

/**
 * Returns the checkpoints of a JSON text, of which the first may be known. Each key is the SHA-256 of the key
 * before and the bytes between, so equal keys mean equal bytes and seeds.
 */
export function checkpointsOf(
  bytes: Buffer,
  seed: string,
  known: readonly Checkpoint[] = [],
): readonly Checkpoint[] {
  const checkpoints = [...known];
  const { end: from, key: before } = known.at(-1) ?? { end: 0, key: seed };
  const countMax = rule.countMax - known.length;
  if (countMax <= 0) return checkpoints;
  let start = from;
  let key = before;
  // Behind the end of a string, the search needs no state of the text before it.
  for (const at of stringEnds(bytes.subarray(from), { ...rule, countMax })) {
    const end = from + at;
    key = createHash('sha256').update(key, 'latin1').update(bytes.subarray(start, end)).digest('latin1');
    checkpoints.push({ end, key });
    start = end;
  }
  return checkpoints;
}
