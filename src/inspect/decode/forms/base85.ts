import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import type { Span } from '../span-map.ts';

const none = 255;
/**
 * Matches a frame with characters of the alphabet and white space. A comparison and a destructor look like a
 * frame. No secret is shorter than fifteen characters.
 */
const frame = /<~([!-uz\s]{15,})~>/g;
const zeros = 0x7a;
const groupLength = 5;
const groupBytes = 4;
/** The value of the character that stands for the missing ones of the last group. */
const filling = 84;

/** The values of the characters from `!` to `u`; 255 for all others. */
const values = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x21 && byte <= 0x75 ? byte - 0x21 : none,
);

/** Decodes Ascii85 between `<~` and `~>`, whatever it holds. */
export const base85: BlockDecoder = {
  name: 'base85',
  signs: textFlags.ascii85,
  mayHold: ({ outline: { flags } }) => (flags & textFlags.ascii85) !== 0,
  *find({ bytes }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    for (const { 1: value = '', index } of bytes.toString('latin1').matchAll(frame)) {
      const start = index + '<~'.length;
      const end = start + value.length;
      budget.work(value.length);
      yield { start, end, bytes: decode(bytes, { start, end }), isOne: true };
    }
  },
};

/** Decodes groups of five characters; `z` stands for four zeros. Other characters are skipped. */
function decode(bytes: Buffer, { start, end }: Span): Buffer {
  const decoded = Buffer.alloc(groupBytes * (end - start + 1));
  let length = 0;
  let number = 0;
  let count = 0;
  const write = (bytesCount: number): void => {
    decoded.writeUInt32BE(number % 2 ** 32, length);
    length += bytesCount;
    number = count = 0;
  };
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    const value = values[byte] as number;
    if (value === none && byte === zeros && count === 0) write(groupBytes);
    if (value === none) continue;
    number = number * 85 + value;
    count += 1;
    if (count === groupLength) write(groupBytes);
  }
  if (count > 1) {
    const rest = count - 1;
    for (let missing = count; missing < groupLength; missing += 1) number = number * 85 + filling;
    write(rest);
  }
  return decoded.subarray(0, length);
}
