import { readHex } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';
import { fromBase64 } from './base64.ts';

const opening = Buffer.from('=?');
const questionMark = 0x3f;
const equalsSign = 0x3d;
const underscore = 0x5f;
const space = 0x20;
/** Bound on the bytes of a word. The standard has at most 75 (RFC 2047, 2); readers take longer ones. */
const wordBytesMax = 1024;
const charsetBytesMax = 64;
const wordsMax = 256;
const gapMax = 32;

/** A word, with the bytes that it stands for. */
interface Word extends Span {
  readonly bytes: Buffer;
}

/**
 * Joins encoded words with only white space between them (RFC 2047, 6.2): `=?utf-8?B?Z2hw?=
 * =?utf-8?B?Xy4uLg?=`. A single word is read like any base64 or quoted-printable.
 */
export const encodedWords: BlockDecoder = {
  name: 'encoded-words',
  signs: textFlags.encodedWords,
  mayHold: ({ outline }) => (outline.flags & textFlags.encodedWords) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let at = bytes.indexOf(opening);
    while (at >= 0) {
      const words: Word[] = [];
      let next = at;
      for (let word = wordAt(bytes, next); word && words.length < wordsMax; word = wordAt(bytes, next)) {
        words.push(word);
        next = behindSpace(bytes, word.end);
      }
      const end = words.at(-1)?.end ?? at + opening.length;
      budget.work(end - at + wordBytesMax);
      if (words.length > 1) yield { start: at, end, bytes: Buffer.concat(words.map((it) => it.bytes)) };
      at = bytes.indexOf(opening, end);
    }
  },
};

function behindSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at - start < gapMax && at < bytes.length && (bytes[at] as number) <= space) at += 1;
  return at;
}

function wordAt(bytes: Buffer, start: number): Word | undefined {
  if (bytes[start] !== equalsSign || bytes[start + 1] !== questionMark) return undefined;
  const charsetEnd = nextMark(bytes, start + 2, charsetBytesMax);
  const isBase64 = ((bytes[charsetEnd + 1] ?? 0) | 0x20) === 0x62;
  const isQuoted = ((bytes[charsetEnd + 1] ?? 0) | 0x20) === 0x71;
  if ((!isBase64 && !isQuoted) || bytes[charsetEnd + 2] !== questionMark) return undefined;
  const from = charsetEnd + 3;
  const to = nextMark(bytes, from, wordBytesMax);
  if (bytes[to] !== questionMark || bytes[to + 1] !== equalsSign) return undefined;
  const text = bytes.subarray(from, to);
  return { start, end: to + 2, bytes: isBase64 ? fromBase64(text) : fromQuoted(text) };
}

function nextMark(bytes: Buffer, start: number, lengthMax: number): number {
  let at = start;
  while (at - start < lengthMax && at < bytes.length && bytes[at] !== questionMark) at += 1;
  return at;
}

/** Decodes `=41`, and `_`, which is a space (RFC 2047, 4.2). */
function fromQuoted(text: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] as number;
    const escaped = byte === equalsSign ? readHex(text, at + 1, 2) : -1;
    if (escaped >= 0) at += 2;
    decoded[length] = escaped >= 0 ? escaped : byte === underscore ? space : byte;
    length += 1;
  }
  return decoded.subarray(0, length);
}
