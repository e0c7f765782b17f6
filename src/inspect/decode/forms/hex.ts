import { byteSet } from '../../kernel/bytes.ts';
import { runKinds } from '../../kernel/outline.ts';
import { bitCode, decodeBits, holdsText } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { isCompressedStart, mayInflateUnmarked } from '../packed/compression.ts';
import { findRun, runEnd, runLengthMin } from '../runs.ts';
import type { Span } from '../span-map.ts';

const code = bitCode(4, '0123456789abcdef', '0123456789ABCDEF');
/**
 * Characters of a value. Line ends, dots between labels of a host name, and strokes between groups may stand
 * inside it.
 */
const alphabet = byteSet('0123456789abcdefABCDEF\r\n.-');
const stroke = 0x2d;
const textMin = 8;
/** The least number of characters of text in joined values. They contain more by accident. */
const joinedTextMin = 16;
/** Bound on the bytes between two pieces of a value, which are list items, or segments of a path. */
const gapBytesMax = 8;
const piecesMax = 256;

/**
 * Decodes pairs of hexadecimal digits in either case, also with strokes between groups, as in UUIDs. An odd
 * digit may stand at either end. Values with the same short gap between them are also joined.
 */
export const hex: BlockDecoder = {
  name: 'hex',
  mayHold: (text) => (text.runKinds & runKinds.hex) !== 0,
  *find({ bytes, runs }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let end = 0;
    let pieces: Span[] = [];
    for (const run of runs) {
      if ((run.kinds & runKinds.hex) === 0) continue;
      budget.work(run.end - run.start);
      let start = findRun(bytes, Math.max(run.start, end), alphabet, runLengthMin, run.end);
      while (start >= 0) {
        end = runEnd(bytes, start, alphabet);
        // The decoder of groups joins pairs with strokes between them.
        const isPairs = bytes[start + 2] === stroke && bytes[start + 5] === stroke;
        if (!isPairs) yield* read(bytes, [{ start, end }], budget);
        if (!continues(bytes, pieces, start)) {
          if (pieces.length > 1) yield* read(bytes, pieces, budget);
          pieces = [];
        }
        pieces.push({ start, end });
        start = findRun(bytes, end, alphabet, runLengthMin, run.end);
      }
    }
    if (pieces.length > 1) yield* read(bytes, pieces, budget);
  },
};

/** Yields the bytes that the digits of all pieces stand for, if they are text or compressed. */
function* read(bytes: Buffer, pieces: readonly Span[], budget: DecodeBudget): Iterable<Block> {
  const start = pieces[0]?.start ?? 0;
  const end = pieces.at(-1)?.end ?? 0;
  const run =
    pieces.length === 1
      ? bytes.subarray(start, end)
      : Buffer.concat(pieces.map((piece) => bytes.subarray(piece.start, piece.end)));
  const min = pieces.length === 1 ? textMin : joinedTextMin;
  for (let rest = run; rest.length > 0; rest = withoutFirst(rest)) {
    budget.work(run.length);
    const whole = { start: 0, end: rest.length };
    if (holdsText(rest, whole, code, min) || isCompressedStart(rest, whole, code))
      yield { start, end, bytes: decodeBits(rest, code) };
    else if (mayInflateUnmarked(rest, whole, code))
      yield { start, end, bytes: decodeBits(rest, code), isGuess: true };
    if (rest !== run || digitsIn(run) % 2 === 0) return;
  }
}

function digitsIn(run: Buffer): number {
  let count = 0;
  for (let at = 0; at < run.length; at += 1) count += code.values[run[at] as number] === 255 ? 0 : 1;
  return count;
}

function withoutFirst(run: Buffer): Buffer {
  let at = 0;
  while (at < run.length && code.values[run[at] as number] === 255) at += 1;
  return run.subarray(at + 1);
}

/** Tells whether another piece of the same value begins at `start`. */
function continues(bytes: Buffer, pieces: readonly Span[], start: number): boolean {
  const last = pieces[pieces.length - 1];
  if (!last || pieces.length === piecesMax) return false;
  if (start === last.end || start - last.end > gapBytesMax) return false;
  const before = pieces[pieces.length - 2];
  return !before || bytes.compare(bytes, before.end, last.start, last.end, start) === 0;
}
