import { createHash } from 'node:crypto';

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

/** From one checkpoint to the next. */
const distanceMin = 4096;
/** Behind a message or a file, where the next body most likely goes on in another way. */
const longStringMin = 1024;
const longStringDistanceMin = 1024;
const countMax = 8192;

const backslash = 0x5c;
const quote = 0x22;
const openingBracket = 0x5b;
const space = 0x20;

/** The checkpoints of a JSON text. Equal keys mean equal bytes and seeds (SHA-256). */
export function checkpointsOf(bytes: Buffer, seed: string): readonly Checkpoint[] {
  const ends = stringEnds(bytes);
  if (ends.length === 0) return [];
  const hash = createHash('sha256').update(seed);
  let from = 0;
  return ends.map((end) => {
    hash.update(bytes.subarray(from, end));
    from = end;
    return { end, key: hash.copy().digest('latin1') };
  });
}

/** Places behind strings; none behind the beginning of a table, whose header says what its cells are however far they stand from it. */
function stringEnds(bytes: Buffer): readonly number[] {
  const { length } = bytes;
  const ends: number[] = [];
  let last = 0;
  let before = 0;
  for (let at = 0; at < length && ends.length < countMax; at += 1) {
    const byte = bytes[at] as number;
    if (byte <= space) continue;
    if (byte === openingBracket && before === openingBracket) break;
    before = byte;
    if (byte !== quote) continue;
    const start = at;
    at = closingQuote(bytes, at + 1);
    const end = at + 1;
    const isFar = end - last >= distanceMin;
    const isLong = end - start >= longStringMin && end - last >= longStringDistanceMin;
    if (end > length || !(isFar || isLong)) continue;
    ends.push(end);
    last = end;
  }
  return ends;
}

function closingQuote(bytes: Buffer, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}
