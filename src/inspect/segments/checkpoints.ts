import { createHash } from 'node:crypto';
import { stringEnds } from '../../scan/string-ends.ts';

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

/** The checkpoints of a JSON text. Equal keys mean equal bytes and seeds (SHA-256). */
export function checkpointsOf(bytes: Buffer, seed: string): readonly Checkpoint[] {
  const ends = stringEnds(bytes, rule);
  if (ends.length === 0) return [];
  const hash = createHash('sha256').update(seed);
  let from = 0;
  return ends.map((end) => {
    hash.update(bytes.subarray(from, end));
    from = end;
    return { end, key: hash.copy().digest('latin1') };
  });
}
