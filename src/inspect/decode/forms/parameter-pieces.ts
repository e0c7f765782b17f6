import { byteSet, digits, isDigit, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { joinedParts } from '../joined-parts.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { runEnd } from '../runs.ts';
import type { Span } from '../span-map.ts';

const firstSection = Buffer.from('*0');
const asterisk = 0x2a;
const equalsSign = 0x3d;
const semicolon = 0x3b;
const quote = 0x22;
const isOfName = byteSet(`${digits}${lowerCase}${upperCase}-_`);
const isSpace = byteSet(' \t\r\n');
const endsValue = byteSet(' \t\r\n;"');
const endsQuoted = byteSet('\r\n"');
const nameBytesMax = 32;
const valueBytesMax = 1024;
const piecesMax = 64;
const gapMax = 32;

/**
 * Joins the pieces of a parameter (RFC 2231, 3): `filename*0="ghp_"; filename*1="…"`. Escapes in pieces
 * marked with a further `*` are read like any percent escapes.
 */
export const parameterPieces: BlockDecoder = {
  name: 'parameter-pieces',
  signs: textFlags.parameterPieces,
  mayHold: ({ outline }) => (outline.flags & textFlags.parameterPieces) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let at = bytes.indexOf(firstSection);
    while (at >= 0) {
      const parts = piecesFrom(bytes, at);
      const end = parts.at(-1)?.end ?? at + firstSection.length;
      budget.work(end - at + nameBytesMax);
      if (parts.length > 1) yield joinedParts(bytes, parts);
      at = bytes.indexOf(firstSection, end);
    }
  },
};

/** Returns the values of the pieces whose first section is at `at`. */
function piecesFrom(bytes: Buffer, at: number): Span[] {
  let start = at;
  while (start > 0 && at - start < nameBytesMax && isOfName[bytes[start - 1] as number] === 1) start -= 1;
  const name = bytes.toString('latin1', start, at);
  const parts: Span[] = [];
  let next = at;
  while (name !== '' && parts.length < piecesMax) {
    const value = valueBehind(bytes, next, parts.length);
    if (!value) break;
    parts.push(value);
    next = runEnd(bytes, bytes[value.end] === quote ? value.end + 1 : value.end, isSpace, gapMax);
    if (bytes[next] === semicolon) next = runEnd(bytes, next + 1, isSpace, gapMax);
    if (bytes.toString('latin1', next, next + name.length) !== name) break;
    next += name.length;
  }
  return parts;
}

/**
 * Returns the value behind `*N=` or `*N*=` at `at`; undefined where that is not there, or N is not `section`.
 */
function valueBehind(bytes: Buffer, at: number, section: number): Span | undefined {
  if (bytes[at] !== asterisk) return undefined;
  let end = at + 1;
  let number = 0;
  while (end - at <= 2 && isDigit(bytes[end])) {
    number = 10 * number + (bytes[end] as number) - 0x30;
    end += 1;
  }
  if (number !== section || end === at + 1) return undefined;
  if (bytes[end] === asterisk) end += 1;
  if (bytes[end] !== equalsSign) return undefined;
  const isQuoted = bytes[end + 1] === quote;
  const ends = isQuoted ? endsQuoted : endsValue;
  const start = isQuoted ? end + 2 : end + 1;
  const limit = Math.min(bytes.length, start + valueBytesMax);
  let valueEnd = start;
  while (valueEnd < limit && ends[bytes[valueEnd] as number] === 0) valueEnd += 1;
  return { start, end: valueEnd };
}
