import { createHash } from 'node:crypto';
import { stringEnds } from '../kernel/string-ends.ts';

/*
 * Who talks with a model sends all that was said before with every turn, and only the end is new. Checkpoints are places up to which two
 * bodies can be told to be the same: right behind strings of a JSON text, each with a key for everything before it.
 */

export interface Checkpoint {
  /** Bytes before it. */
  readonly end: number;
  /** Of all these bytes, and of the seed. */
  readonly key: string;
}

/**
 * From one checkpoint to the next; behind a message or a file, where the next body most likely goes on in another way, fewer. A table hides
 * what stands behind it: its header says what its cells are, however far they stand from it.
 */
const rule = { far: 4096, long: 1024, countMax: 8192 };

/**
 * The checkpoints of a JSON text, of which those at its beginning may be known. Equal keys mean equal bytes and seeds: each is the SHA-256 of
 * the one before it and the bytes between them.
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
  // Behind a string nothing of the text before it counts.
  for (const at of stringEnds(bytes.subarray(from), { ...rule, countMax })) {
    const end = from + at;
    key = createHash('sha256').update(key, 'latin1').update(bytes.subarray(start, end)).digest('latin1');
    checkpoints.push({ end, key });
    start = end;
  }
  return checkpoints;
}
