import { type ByteSet, noBytes, union } from './byte-set.ts';
import { childrenOf, type Node } from './pattern-syntax.ts';

/*
 * Most places at which a pattern is tried are not even long enough for it: behind a prefix stand five characters of its alphabet instead
 * of forty, in a window of a keyword no number at all. To see that in the bytes takes a tenth of the time of asking the pattern.
 */

/** What all matches of a pattern consist of. */
export interface Makeup {
  /** The bytes that a match can have, 32 of the 256 in each number. */
  readonly alphabet: Int32Array;
  /** How many it has at least. */
  readonly lengthMin: number;
}

export const makeupOf = (pattern: Node): Makeup => ({
  alphabet: bitsOf(bytesOf(pattern)),
  lengthMin: lengthMinOf(pattern),
});

/** The first place from `from` on and before `to` from which on so many bytes are of the alphabet; `to` where there is none. */
export function nextOf({ alphabet, lengthMin }: Makeup, bytes: Uint8Array, from: number, to: number): number {
  const end = Math.min(to, bytes.length - lengthMin + 1);
  let start = from;
  let known = from;
  while (start < end) {
    // From behind: what is found there rules out all places before it at once.
    const last = start + lengthMin - 1;
    let at = last;
    while (at >= known && has(alphabet, bytes[at] as number)) at -= 1;
    if (at < known) return start;
    start = at + 1;
    known = last + 1;
  }
  return to;
}

/** Where a match ends at the latest that begins before `from`: at the next byte that it cannot have, or at `to`, or with the text. */
export function endOf({ alphabet }: Makeup, bytes: Uint8Array, from: number, to: number): number {
  const limit = Math.min(to, bytes.length);
  let end = from;
  while (end < limit && has(alphabet, bytes[end] as number)) end += 1;
  return end;
}

/** Whether a match can have this byte. */
export const mayHave = ({ alphabet }: Makeup, byte: number): boolean => has(alphabet, byte);

const has = (bits: Int32Array, byte: number): boolean =>
  (((bits[byte >> 5] as number) >> (byte & 31)) & 1) === 1;

const bitsOf = (set: ByteSet): Int32Array =>
  Int32Array.from({ length: 8 }, (_, index) => Number(BigInt.asIntN(32, set >> BigInt(32 * index))));

/** What is only looked at is no part of a match. */
function bytesOf(node: Node): ByteSet {
  if (node.kind === 'set') return node.has;
  if (node.kind === 'look') return noBytes;
  return childrenOf(node).map(bytesOf).reduce(union, noBytes);
}

function lengthMinOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1;
    case 'edge':
    case 'look':
      return 0;
    case 'repeat':
      return node.min * lengthMinOf(node.item);
    case 'choice':
      return Math.min(...node.options.map(lengthMinOf));
    case 'sequence':
      return node.items.reduce((sum, item) => sum + lengthMinOf(item), 0);
  }
}
