import { byteSet, digits, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { runEnd } from '../runs.ts';
import type { Span } from '../span-map.ts';

const newline = 0x0a;
const doubleQuote = 0x22;
const singleQuote = 0x27;
/** Bound on the bytes from the closing quote of a literal to the opening quote of the next one. */
const seamBytesMax = 64;
/**
 * Bounds on the bytes of the line before the first seam, on those of one literal, and on the literals of one
 * value.
 */
const beforeMax = 256;
const literalBytesMax = 1024;
const literalsMax = 64;

const isBlank = byteSet(' \t\r\n');
const isSign = byteSet('+.&|');
/** Signs that join texts in some language: JavaScript, PHP, Lua, Basic, SQL, Haskell. */
const signs = new Set(['+', '.', '..', '&', '||', '++']);
const endsLiteral = byteSet(`${digits}${lowerCase}${upperCase}-/_=`);
const beginsLiteral = byteSet(`${digits}${lowerCase}${upperCase}-/_=+`);
const isTokenByte = byteSet(`${digits}${lowerCase}${upperCase}+/=-_.:@!$*#%,;?&|()[]{}~`);

/**
 * Matches what begins an argument of its own on a command line, where literals with blanks between them are
 * not joined: a variable's new value, a URL.
 */
const argument = /^(?:[A-Z]{2,16}(?:_[A-Z\d]{1,16}){0,4}=[^="']|[a-z]{2,8}:\/\/)/;
const argumentBytesMax = 96;

/**
 * Joins literals that a program puts together: `"AKIA" + "IOSF…"`, `'ghp_' . '…'`, `"xoxb" "-…"`. It also
 * joins what a shell joins around empty quotes: `gh''p_…`. The bytes at the first seam must be of a token.
 * Without a sign between them, the literals must be of a token as a whole.
 */
export const literals: BlockDecoder = {
  name: 'literals',
  signs: textFlags.seams,
  mayHold: ({ outline }) => outline.places.seams.length > 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let end = 0;
    for (const at of outline.places.seams) {
      budget.work(1);
      if (at < end) continue;
      const next = seamEnd(bytes, at);
      if (next === at || !isOfToken(bytes, at, next)) continue;
      const parts = partsAround(bytes, at, next, end);
      end = parts.at(-1)?.end ?? at;
      budget.work(end - at + beforeMax);
      yield joinedParts(bytes, parts);
    }
  },
};

/** Tells whether the literals on both sides of a seam may be of one token. */
const isOfToken = (bytes: Buffer, end: number, start: number): boolean =>
  endsLiteral[bytes[end - 1] ?? 0] === 1 && beginsLiteral[bytes[start] ?? 0] === 1;

/**
 * Returns the line up to the seam from `at` to `behind`, but nothing before `from`, and all literals behind
 * it that seams join.
 */
function partsAround(bytes: Buffer, at: number, behind: number, from: number): Span[] {
  let start = at;
  while (start > from && at - start < beforeMax && bytes[start - 1] !== newline) start -= 1;
  const parts: Span[] = [{ start, end: at }];
  let next = behind;
  for (;;) {
    const close = closeOf(bytes, next, bytes[next - 1] as number);
    const following = parts.length < literalsMax ? seamEnd(bytes, close) : close;
    if (following === close) {
      // The closing quote belongs to what is joined, as the opening one of the first literal does.
      parts.push({ start: next, end: Math.min(bytes.length, close + 1) });
      return parts;
    }
    parts.push({ start: next, end: close });
    next = following;
  }
}

/** Returns the place of the next such quote, or of the line end before it. */
function closeOf(bytes: Buffer, start: number, quote: number): number {
  const limit = Math.min(bytes.length, start + literalBytesMax);
  let at = start;
  while (at < limit && bytes[at] !== quote && bytes[at] !== newline) at += 1;
  return at;
}

/**
 * Returns the place behind the opening quote of the literal that continues the one closed at `at`; `at` where
 * none does.
 */
function seamEnd(bytes: Buffer, at: number): number {
  const quote = bytes[at];
  if (!isQuote(quote)) return at;
  const signAt = runEnd(bytes, at + 1, isBlank, seamBytesMax + 1);
  const signEnd = runEnd(bytes, signAt, isSign, seamBytesMax + 1);
  const open = runEnd(bytes, signEnd, isBlank, seamBytesMax + 1);
  const next = bytes[open];
  if (open - at > seamBytesMax || !isQuote(next)) return at;
  const isJoined =
    signEnd > signAt
      ? signs.has(bytes.toString('latin1', signAt, signEnd))
      : open === at + 1
        ? next === quote
        : isToken(bytes, at - 1, -1, quote) &&
          isToken(bytes, open + 1, 1, next) &&
          !argument.test(bytes.toString('latin1', open + 1, open + 1 + argumentBytesMax));
  return isJoined ? open + 1 : at;
}

const isQuote = (byte: number | undefined): byte is number => byte === doubleQuote || byte === singleQuote;

/** Tells whether only characters of a token stand from `start` on, in one direction, up to the quote. */
function isToken(bytes: Buffer, start: number, step: 1 | -1, quote: number): boolean {
  let at = start;
  while (Math.abs(at - start) < literalBytesMax && isTokenByte[bytes[at] ?? 0] === 1) at += step;
  return bytes[at] === quote;
}
