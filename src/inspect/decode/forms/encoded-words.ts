import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { fromBase64 } from './base64.ts';

/**
 * Matches a word, with its encoding and its text. The standard has at most 75 bytes (RFC 2047, 2); readers take
 * longer ones.
 */
const word = String.raw`=\?[^?]{0,64}\?([bq])\?([^?]{0,1024})\?=`;
const eachWord = new RegExp(word, 'gi');
const wordsInARow = new RegExp(String.raw`${word}(?:\s{0,32}${word}){1,255}`, 'gi');

/**
 * Joins encoded words with only white space between them (RFC 2047, 6.2): `=?utf-8?B?Z2hw?=
 * =?utf-8?B?Xy4uLg?=`. A single word is read like any base64 or quoted-printable.
 */
export const encodedWords: BlockDecoder = {
  name: 'encoded-words',
  signs: textFlags.encodedWords,
  mayHold: ({ outline }) => (outline.flags & textFlags.encodedWords) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    for (const { 0: words, index: start } of bytes.toString('latin1').matchAll(wordsInARow)) {
      budget.work(words.length);
      const texts = Array.from(words.matchAll(eachWord), ([, encoding = '', text = '']) =>
        encoding.toLowerCase() === 'b' ? fromBase64(Buffer.from(text, 'latin1')) : fromQuoted(text),
      );
      yield { start, end: start + words.length, bytes: Buffer.concat(texts) };
    }
  },
};

/** Decodes `=41`, and `_`, which is a space (RFC 2047, 4.2). */
function fromQuoted(text: string): Buffer {
  const character = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(text.replaceAll('_', ' ').replace(/=([\da-f]{2})/gi, character), 'latin1');
}
