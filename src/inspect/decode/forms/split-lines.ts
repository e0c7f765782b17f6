import { byteSet, digits, isAlphanumeric, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { beginsAlike, brokenToken, isNameBefore } from '../broken-token.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { lineBreakEnd } from '../runs.ts';
import type { Span } from '../span-map.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
/** Bounds on the bytes in the lines of a cut token. Longer lines are base64 as it is usually wrapped. */
const lengthMin = 3;
const lengthMax = 40;
/** The least number of bytes of the first of two lines. */
const pairLengthMin = 8;
const isToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.`);
/** Characters of a token, spaces between groups of numbers, and the `@` of addresses. */
const isSpacedToken = byteSet(`${digits}${lowerCase}${upperCase}+/=-_. @`);
const quote = 0x22;
const space = 0x20;

/** Matches a line that gives a value to a name. Where the next one does, too, neither goes on from another. */
const assignment = /^[A-Za-z_]\w{2,38}=[^=]/;

/**
 * Joins a text that was cut into lines, indented or not. Two whole lines of one length without a space show
 * such a cut. If the first line has that length too, one line suffices in a string, and two with spaces
 * elsewhere. A token that goes on in the next line shows a cut as well.
 */
export const splitLines: BlockDecoder = {
  name: 'split-lines',
  mayHold: ({ outline }) => outline.places.cuts.length > 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let from = 0;
    for (const newlineAt of outline.places.cuts) {
      if (newlineAt < from) continue;
      const next = bytes.indexOf(newline, newlineAt + 1);
      budget.work((next < 0 ? bytes.length : next) - newlineAt);
      const parts = partsAt(bytes, newlineAt, next, budget);
      if (!parts) continue;
      yield joinedParts(bytes, parts);
      from = parts.at(-1)?.start ?? 0;
    }
  },
};

/**
 * Returns the parts that belong together on both sides of the line end; undefined where none do. The next
 * line end is at `next`, or -1.
 */
function partsAt(bytes: Buffer, newlineAt: number, next: number, budget: DecodeBudget): Span[] | undefined {
  const first = breakAt(bytes, newlineAt);
  return (
    linePair(bytes, first) ??
    (next < 0 ? undefined : equalLines(bytes, first, breakAt(bytes, next), budget)) ??
    brokenToken(bytes, withoutSpaces(bytes, first.start))
  );
}

function withoutSpaces(bytes: Buffer, end: number): number {
  let at = end;
  while (bytes[at - 1] === space) at -= 1;
  return at;
}

/** Returns the span of a line end with the next line's indentation. */
const breakAt = (bytes: Buffer, newlineAt: number): Span => ({
  start: bytes[newlineAt - 1] === carriageReturn ? newlineAt - 1 : newlineAt,
  end: lineBreakEnd(bytes, newlineAt),
});

/** Returns the two lines of a string, where the second one is not longer than the first; else undefined. */
function linePair(bytes: Buffer, { start: end, end: lineStart }: Span): Span[] | undefined {
  if (isToken[bytes[lineStart] ?? 0] === 0 || isToken[bytes[end - 1] ?? 0] === 0) return undefined;
  let start = end;
  while (end - start <= lengthMax && isToken[bytes[start - 1] ?? 0] === 1) start -= 1;
  const length = end - start;
  if (bytes[start - 1] !== quote || length < pairLengthMin) return undefined;
  let last = lineStart;
  while (last - lineStart <= length && isToken[bytes[last] ?? 0] === 1) last += 1;
  if (bytes[last] !== quote || last === lineStart) return undefined;
  return [
    { start, end },
    { start: lineStart, end: last },
  ];
}

/**
 * Returns the whole lines between and behind the breaks, with the end of the line before and the start of the
 * line after them. Returns undefined where they are no cut text.
 */
function equalLines(bytes: Buffer, first: Span, second: Span, budget: DecodeBudget): Span[] | undefined {
  const length = second.start - first.end;
  if (length < lengthMin || length > lengthMax) return undefined;
  if (!isMadeOf(isSpacedToken, bytes, first.end, length)) return undefined;
  if ([first.end, second.end].every((at) => assignment.test(bytes.toString('latin1', at, at + length))))
    return undefined;
  const before = firstLine(bytes, first.start, length);
  const alphabet = before === undefined ? isToken : isSpacedToken;
  if (!isMadeOf(alphabet, bytes, first.end, length) || beginsAlike(bytes, first.end, second.end))
    return undefined;
  const parts = [{ start: first.end, end: second.start }];
  let next = second.end;
  while (isMadeOf(alphabet, bytes, next, length)) {
    const end = next + length;
    const after = lineBreakEnd(bytes, end);
    if (after === end) break;
    parts.push({ start: next, end });
    next = after;
    budget.work(length);
  }
  if (parts.length < (before === 'of a string' ? 1 : 2)) return undefined;
  let from = first.start;
  while (from > 0 && first.start - from < length && alphabet[bytes[from - 1] ?? 0] === 1) from -= 1;
  // A single character is the sign of a list, or of a text in lines (`>-`).
  if (first.start - from === 1 && !isAlphanumeric(bytes[from])) from = first.start;
  let to = next;
  while (to - next < length && alphabet[bytes[to] ?? 0] === 1) to += 1;
  if (isNameBefore(bytes, to)) to = next;
  return [{ start: from, end: first.start }, ...parts, { start: next, end: to }].filter(
    ({ start, end }) => end > start,
  );
}

/**
 * Tells whether the line that ends at `end` has that length too, and whether it begins a string; undefined
 * where it has not.
 */
function firstLine(bytes: Buffer, end: number, length: number): 'of a string' | 'of a text' | undefined {
  const start = end - length;
  if (start < 0 || !isMadeOf(isSpacedToken, bytes, start, length)) return undefined;
  if (bytes[start - 1] === quote) return 'of a string';
  return start === 0 || bytes[start - 1] === newline ? 'of a text' : undefined;
}

function isMadeOf(alphabet: Uint8Array, bytes: Buffer, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 1) {
    if (alphabet[bytes[at] ?? 0] === 0) return false;
  }
  return true;
}
