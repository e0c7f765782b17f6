import { byteSet, digits, isHexDigit, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { blockFlags, stretchesOf } from '../../kernel/outline.ts';
import { beginsAlike } from '../broken-token.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';

/** The number of bytes between two looks, which is less than the length of such a token. */
const stride = 28;
const charactersMin = 16;
/** The longest period of groups that need no digit: longer groups without one are words of one length. */
const wordlessPeriod = 4;
/** Bound on the bytes in which a sign is looked for. */
const reach = 3;
const percentSign = 0x25;
const hyphen = 0x2d;
const equalsSign = 0x3d;
/**
 * Bounds on groups that are too long for a few looks. Longer ones than the first are list items; those up to
 * the second may be of an identifier.
 */
const widePeriodMax = 48;
const shortPeriodMax = 5;
/** Bound on the bytes of such a sequence. A longer one is a list of things of one length. */
const wideBytesMax = 6144;
const isWideGroup = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.:@`);
const isWord = byteSet(`${digits}${lowerCase}${upperCase}`);

/** Bytes before and behind the place that the kernel marks. The shortest such token fits in. */
const margin = { before: 32, after: 32 };

/**
 * Joins a token with the same sign behind every one or two characters: `g-h-p-_-…`, `67.68.70`, and the items
 * of `["g","h","p"]`. Groups of three to 47 characters need digits in them. Three periods are needed to tell
 * it, two for long groups. One character must be a letter.
 */
export const grouped: BlockDecoder = {
  name: 'grouped',
  mayHold: ({ outline: { flags, places } }) => (flags & blockFlags.rhythm) !== 0 || places.groups.length > 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let end = 0;
    for (const { from, to } of stretchesOf(outline, blockFlags.rhythm, bytes.length, margin)) {
      let rhythm = findRhythm(bytes, Math.max(from, end), to);
      while (rhythm) {
        const groups = read(bytes, rhythm, end);
        budget.work(stride + groups.end - groups.start);
        const token = join(bytes, groups, rhythm);
        if (token) yield { ...groups, bytes: token };
        // Text that was walked is not walked again, whether it is a token or not.
        end = Math.max(end, groups.end);
        rhythm = findRhythm(bytes, Math.max(end, rhythm.at + stride), to);
      }
    }
    yield* findWide(bytes, outline.places.groups, budget);
  },
};

/**
 * Finds groups of three and more characters, by a sign that stands three times at one distance. Groups of
 * three and four do not end other groups, since a token with its own strokes contains some by accident.
 */
function* findWide(bytes: Buffer, thirds: Int32Array, budget: DecodeBudget): Iterable<Block> {
  let end = 0;
  let shortEnd = 0;
  for (let index = 0; index < thirds.length; index += 1) {
    const at = thirds[index] as number;
    const period = periodBefore(bytes, at);
    if (at - 2 * period < end || (period <= shortPeriodMax && at < shortEnd)) continue;
    const rhythm = rhythmOf(bytes, at - 2 * period, period);
    if (!isGroup(bytes, rhythm.at + rhythm.width, period - rhythm.width)) continue;
    const groups = read(bytes, rhythm, end);
    budget.work(groups.end - groups.start);
    const token = tokenOf(bytes, groups, rhythm);
    if (period <= shortPeriodMax) shortEnd = groups.end;
    else end = Math.max(end, groups.end, rhythm.at + rhythm.width);
    if (token) yield { ...groups, bytes: token };
  }
}

/** Returns the distance from the sign at `at` to the same sign before it. */
function periodBefore(bytes: Buffer, at: number): number {
  let period = 1;
  while (period < widePeriodMax && bytes[at - period] !== bytes[at]) period += 1;
  return period;
}

function tokenOf(bytes: Buffer, groups: Span, rhythm: Rhythm): Buffer | undefined {
  const isList = groups.end - groups.start > wideBytesMax || areOfList(bytes, groups, rhythm.period);
  const token = isList ? undefined : join(bytes, groups, rhythm);
  return token && isOfToken(token, rhythm.period) ? token : undefined;
}

/** Tells whether groups are items of a list: these often share a prefix, unlike the pieces of one value. */
const areOfList = (bytes: Buffer, { start }: Span, period: number): boolean =>
  beginsAlike(bytes, start, start + period) && beginsAlike(bytes, start, start + 2 * period);

/**
 * Tells whether joined groups can be a token. Numbers such as `0x73` are codes, and groups of three or four
 * hexadecimal digits belong to an identifier.
 */
function isOfToken(token: Buffer, period: number): boolean {
  if ((token[0] === 0x30 && token[1] === 0x78) || !token.every((byte) => isWideGroup[byte] === 1))
    return false;
  return period > shortPeriodMax || token.some((byte) => !isHexDigit(byte) && byte !== hyphen);
}

/** A sign of `width` bytes at `at`, and again after each `period`. */
interface Rhythm {
  readonly at: number;
  readonly width: number;
  readonly period: number;
}

/** Finds the first sign that repeats after one period and after two. Most looks end at the second byte. */
function findRhythm(bytes: Buffer, from: number, to: number): Rhythm | undefined {
  for (let start = from; start < to; start += stride) {
    let at = start;
    while (at < start + reach && isWord[bytes[at] ?? 0] === 1) at += 1;
    // Percent escapes have a decoder of their own, which knows that the sign stands before its digits.
    if (at === start + reach || bytes[at] === percentSign) continue;
    const period = periodAt(bytes, at);
    if (period === 0) continue;
    const sign = bytes[at];
    if (bytes[at + 3 * period] === sign || bytes[at - period] === sign) return rhythmOf(bytes, at, period);
  }
  return undefined;
}

/**
 * Returns the length of a group with the sign behind it; 0 where there is none. A group is one or two
 * characters with one or two signs, or four or eight as in hexadecimal. A loop would take ten times as long.
 */
function periodAt(bytes: Buffer, at: number): number {
  const sign = bytes[at];
  if (bytes[at + 2] === sign && bytes[at + 4] === sign) return 2;
  if (bytes[at + 3] === sign && bytes[at + 6] === sign) return 3;
  if (bytes[at + 4] === sign && bytes[at + 8] === sign) return 4;
  if (bytes[at + 5] === sign && bytes[at + 10] === sign) return 5;
  return bytes[at + 9] === sign && bytes[at + 18] === sign ? 9 : 0;
}

/** Returns the rhythm with all bytes of the sign. In a list quotes come twice in each period. */
function rhythmOf(bytes: Buffer, found: number, period: number): Rhythm {
  if (period === 2) {
    if (isComma(bytes, found + 1)) return { at: found, width: 3, period: 4 };
    if (isComma(bytes, found + 3)) return { at: found + 2, width: 3, period: 4 };
  }
  let at = found;
  while (found - at < period - 2 && isOfSign(bytes, at - 1, period)) at -= 1;
  let end = found + 1;
  while (end - at < period - 1 && isOfSign(bytes, end, period)) end += 1;
  return { at, width: end - at, period };
}

/**
 * Tells whether a comma stands at a place and again four bytes later, as in a list of single characters in
 * quotes.
 */
const isComma = (bytes: Buffer, at: number): boolean => bytes[at] === 0x2c && bytes[at + 4] === 0x2c;

function isOfSign(bytes: Buffer, at: number, period: number): boolean {
  const byte = bytes[at];
  return isWord[byte ?? 0] === 0 && byte === bytes[at + period] && byte === bytes[at + 2 * period];
}

/** Returns the span of the groups around the sign, not before `from`. */
function read(bytes: Buffer, { at, width, period }: Rhythm, from: number): Span {
  const length = period - width;
  const isSign = (other: number): boolean => {
    for (let offset = 0; offset < width; offset += 1)
      if (bytes[other + offset] !== bytes[at + offset]) return false;
    return true;
  };
  let first = at;
  while (first - period >= from && isSign(first - period) && isGroup(bytes, first - length, length))
    first -= period;
  let last = at;
  while (isGroup(bytes, last + width, length) && isSign(last + period)) last += period;
  const hasHead = first - length >= from && isGroup(bytes, first - length, length);
  let end = last + width;
  while (end < last + period && isGroup(bytes, end, 1)) end += 1;
  return { start: hasHead ? first - length : first + width, end };
}

/** Returns the characters of the groups, if they suffice for a token and contain a letter. */
function join(bytes: Buffer, { start, end }: Span, { width, period }: Rhythm): Buffer | undefined {
  if (end - start < charactersMin) return undefined;
  const characters = Buffer.allocUnsafe(end - start);
  let count = 0;
  let hasLetter = false;
  let hasDigit = false;
  let isPadded = false;
  for (let group = start; group < end; group += period) {
    const groupEnd = Math.min(end, group + period - width);
    for (let index = group; index < groupEnd; index += 1) {
      const byte = bytes[index] ?? 0;
      // An equals sign that is no padding stands between a name and its value, as in the options of a
      // command.
      if (isPadded && byte !== equalsSign && index > group && period > shortPeriodMax) return undefined;
      isPadded = byte === equalsSign;
      characters[count] = byte;
      count += 1;
      hasLetter ||= byte >= 0x41 && isWord[byte] === 1;
      hasDigit ||= byte >= 0x30 && byte <= 0x39;
    }
  }
  const isRead = hasLetter && (hasDigit || period <= wordlessPeriod);
  return count >= charactersMin && isRead ? characters.subarray(0, count) : undefined;
}

/**
 * Tells whether so many characters from `start` on may belong to a token: no space, and nothing that ends a
 * string.
 */
function isGroup(bytes: Buffer, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte <= 0x20 || byte >= 0x7f || byte === 0x22 || byte === 0x5c) return false;
  }
  return true;
}
