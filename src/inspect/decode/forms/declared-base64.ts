import { byteSet, digits, lowerCase, upperCase } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import { bitCode, decodeBits } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';
import { base64Contents } from '../transfer-fields.ts';

const letters = `${upperCase}${lowerCase}${digits}+/`;
const code = bitCode(6, letters);
const isLetter = byteSet(letters);
const lineEnds = byteSet('\r\n');
const space = byteSet('\r\n \t');
const paddedSpace = byteSet('\r\n \t=');
const padding = 0x3d;

/**
 * Decodes parts that declare base64 and have other characters between the letters, which decoders drop (RFC
 * 2045, 6.8). Parts without such characters are read like any base64.
 */
export const declaredBase64: BlockDecoder = {
  name: 'declared-base64',
  signs: textFlags.transferField,
  mayHold: ({ outline }) => (outline.flags & textFlags.transferField) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    for (const { start, end } of base64Contents(bytes, budget)) {
      const content = without(space, bytes, { start, end });
      if (hasOthers(bytes, without(paddedSpace, bytes, content)))
        yield { ...content, bytes: decodeBits(bytes.subarray(start, content.end), code, padding) };
    }
  },
};

/** Returns the span without these bytes at its end. */
function without(others: Uint8Array, bytes: Buffer, { start, end }: Span): Span {
  let at = end;
  while (at > start && others[bytes[at - 1] ?? 0] === 1) at -= 1;
  return { start, end: at };
}

/** Tells whether other characters stand in the span. Padding before its end counts as one. */
function hasOthers(bytes: Buffer, { start, end }: Span): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (isLetter[byte] === 0 && lineEnds[byte] === 0) return true;
  }
  return false;
}
