import { isAlphanumeric } from '../../kernel/bytes.ts';
import { blockFlags, stretchesOf } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';

const space = 0x20;
const charactersMin = 12;
/** The number of bytes between two looks, which is less than the length of any such word. */
const stride = 20;

/** Bytes before and behind the place that the kernel marks. The shortest such token fits in. */
const margin = { before: 32, after: 32 };

/** Joins a word with a space between all its characters (`g h p _ …`). */
export const spaced: BlockDecoder = {
  name: 'spaced',
  mayHold: ({ outline }) => (outline.flags & blockFlags.rhythm) !== 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let end = 0;
    for (const { from, to } of stretchesOf(outline, blockFlags.rhythm, bytes.length, margin)) {
      let probe = findProbe(bytes, Math.max(from, end), to);
      while (probe >= 0) {
        const block = read(bytes, probe, end, budget);
        if (block) yield block;
        budget.work(stride);
        end = block?.end ?? end;
        probe = findProbe(bytes, Math.max(probe, end) + stride, to);
      }
    }
  },
};

/**
 * Finds a space with another one two bytes away; -1 where there is none. Inside a spaced word one of two
 * neighbours is such a space. Prose is left after two looks.
 */
function findProbe(bytes: Buffer, from: number, to: number): number {
  for (let at = from; at < to; at += stride) {
    if (bytes[at] === space && (bytes[at + 2] === space || bytes[at - 2] === space)) return at;
    if (bytes[at - 1] === space && (bytes[at + 1] === space || bytes[at - 3] === space)) return at - 1;
  }
  return -1;
}

/** Tells whether a character stands alone between two spaces, or is a space of the original text. */
function isSingle(bytes: Buffer, at: number): boolean {
  const byte = bytes[at] ?? 0;
  return byte > space
    ? byte < 0x7f
    : byte === space && (bytes[at - 2] ?? 0) > space && (bytes[at + 2] ?? 0) > space;
}

/** Returns the word around the space at `probe`, not before `from`; undefined where it is too short. */
function read(bytes: Buffer, probe: number, from: number, budget: DecodeBudget): Block | undefined {
  let start = probe;
  while (start - 2 >= from && bytes[start - 2] === space && isSingle(bytes, start - 1)) start -= 2;
  let end = probe;
  while (bytes[end + 2] === space && isSingle(bytes, end + 1)) end += 2;
  // The outermost characters must stand alone too; else they belong to the neighbouring words.
  const hasFirst = start > from && isSingle(bytes, start - 1) && !isAlphanumeric(bytes[start - 2]);
  start += hasFirst ? -1 : 1;
  if (isSingle(bytes, end + 1) && !isAlphanumeric(bytes[end + 2])) end += 2;
  budget.work(end - start);
  if (end - start < 2 * charactersMin - 1) return undefined;
  const characters = Buffer.allocUnsafe(Math.ceil((end - start) / 2));
  for (let at = 0; at < characters.length; at += 1) characters[at] = bytes[start + 2 * at] ?? 0;
  return { start, end, bytes: characters };
}
