import { byteSet, isDigit, readHex } from '../../kernel/bytes.ts';
import { isTextByte } from '../bits.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { runEnd } from '../runs.ts';

const separators = byteSet(' ,:;.-\t\r\n');
/** Separators of decimal codes only. Hexadecimal digits with them are read as hexadecimal. */
const isDecimalOnly = byteSet('.-');
const alphabet = byteSet('0123456789abcdefABCDEFx ,:;.-\t\r\n');
const codesMin = 12;

type Radix = 'decimal' | 'hex';

interface Code {
  readonly end: number;
  readonly decimal: number;
  readonly hex: number;
}

/** Decodes bytes as numbers with separators: `[115,107]`, `73 6b`, `73:6b`, `0x73, 0x6b`, `115.107`. */
export const charCodes: BlockDecoder = {
  name: 'char-codes',
  mayHold: ({ outline }) => outline.places.codes.length > 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let end = 0;
    for (const start of outline.places.codes) {
      if (start < end) continue;
      end = runEnd(bytes, start, alphabet);
      yield* findSequences(bytes, start, end, 'decimal', budget);
      yield* findSequences(bytes, start, end, 'hex', budget);
    }
  },
};

/** Yields the longest sequences of numbers that are all codes of text. */
function* findSequences(
  bytes: Buffer,
  from: number,
  to: number,
  radix: Radix,
  budget: DecodeBudget,
): Iterable<Block> {
  const codes: number[] = [];
  let start = from;
  let end = from;
  let at = from;
  while (at < to) {
    budget.work(1);
    const byte = bytes[at] as number;
    const endsHex = radix === 'hex' && isDecimalOnly[byte] === 1;
    if (separators[byte] === 1 && !endsHex) {
      at += 1;
      continue;
    }
    const code = endsHex ? { end: at + 1, decimal: -1, hex: -1 } : readCode(bytes, at, to);
    budget.work(code.end - at);
    const value = code[radix];
    if (isTextByte[value] === 1) {
      if (codes.length === 0) start = at;
      codes.push(value);
      end = code.end;
    } else {
      if (codes.length >= codesMin) yield { start, end, bytes: Buffer.from(codes) };
      codes.length = 0;
    }
    at = code.end;
  }
  if (codes.length >= codesMin) yield { start, end, bytes: Buffer.from(codes) };
}

/**
 * Returns the number at `at`, up to the next separator, read as decimal and as hexadecimal; -1 where it is
 * none.
 */
function readCode(bytes: Buffer, at: number, to: number): Code {
  let end = at;
  let decimal = 0;
  while (end < to && separators[bytes[end] ?? 0] === 0) {
    decimal =
      decimal >= 0 && isDigit(bytes[end]) && end - at < 3 ? decimal * 10 + readHex(bytes, end, 1) : -1;
    end += 1;
  }
  const digitsAt = end - at === 4 && bytes[at] === 0x30 && bytes[at + 1] === 0x78 ? at + 2 : at;
  return { end, decimal, hex: end - digitsAt === 2 ? readHex(bytes, digitsAt, 2) : -1 };
}
