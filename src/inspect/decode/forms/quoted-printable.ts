import { byteSet, readHex } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Block, BlockDecoder, EncodedText } from '../packed/block-decoder.ts';
import { quotedPrintableFrom } from '../transfer-fields.ts';
import { Output } from '../unescape.ts';

const equalsSign = 0x3d;
const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const space = 0x20;
const tab = 0x09;
/** Bound on the bytes between two escapes of one word. */
const gapMax = 32;
const checkEvery = 65_536;
/**
 * Characters that end a word. One of them stands between the `=` signs of queries, attributes and
 * assignments.
 */
const endsWord = byteSet(' \t\r\n&?;,"\'<>(){}[]');

/**
 * Decodes `=41`, and drops `=` with the line end behind it (RFC 2045, 6.7). Two escapes in one word show this
 * encoding, or one behind a field that declares it. An `=` is common and hardly ever an escape, so this is no
 * escape decoder: the line, or its part between quotes, is one value.
 */
export const quotedPrintable: BlockDecoder = {
  name: 'quoted-printable',
  signs: textFlags.quotedWord | textFlags.transferField,
  mayHold: ({ outline: { flags } }) => (flags & (textFlags.quotedWord | textFlags.transferField)) !== 0,
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    let declaredFrom = (outline.flags & textFlags.transferField) === 0 ? Number.POSITIVE_INFINITY : undefined;
    let done = 0;
    let escapeEnd = -1;
    let at = bytes.indexOf(equalsSign);
    while (at >= 0) {
      budget.work(gapMax);
      const length = escapeLength(bytes, at);
      let next = at + Math.max(1, length);
      if (length > 0) declaredFrom ??= quotedPrintableFrom(bytes);
      const isDeclared = length > 0 && at >= (declaredFrom ?? 0);
      if (isDeclared || (length > 0 && escapeEnd >= 0 && isWord(bytes, escapeEnd, at))) {
        const start = lineStart(bytes, isDeclared ? at : escapeEnd, done);
        next = lineEnd(bytes, next);
        budget.work(next - start);
        yield { start, end: next, bytes: decode(bytes.subarray(start, next), budget) };
        done = next;
        escapeEnd = -1;
      } else if (length > 0) escapeEnd = next;
      at = bytes.indexOf(equalsSign, next);
    }
  },
};

/**
 * Returns the length of an escape; 0 where there is none. Blanks before a line end do not belong to the line
 * (RFC 2045, 6.7).
 */
function escapeLength(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (end - at < gapMax && isBlank(bytes[end])) end += 1;
  if (bytes[end] === carriageReturn) end += 1;
  if (bytes[end] === newline) return end + 1 - at;
  return readHex(bytes, at + 1, 2) >= 0 ? 3 : 0;
}

const isBlank = (byte: number | undefined): boolean => byte === space || byte === tab;

function isWord(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > gapMax) return false;
  for (let at = start; at < end; at += 1) if (endsWord[bytes[at] ?? 0] === 1) return false;
  return true;
}

function lineStart(bytes: Buffer, from: number, limit: number): number {
  let at = from;
  while (at > limit && !endsLine(bytes, at - 1)) at -= 1;
  return at;
}

function lineEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && !endsLine(bytes, at)) at += 1;
  return at;
}

/** Tells whether a byte is a quote, or a line end that is not escaped. */
function endsLine(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== newline) return bytes[at] === quote;
  let before = bytes[at - 1] === carriageReturn ? at - 2 : at - 1;
  while (at - before < gapMax && isBlank(bytes[before])) before -= 1;
  return bytes[before] !== equalsSign;
}

function decode(line: Buffer, budget: DecodeBudget): Buffer {
  const out = new Output(Buffer.allocUnsafe(line.length));
  let at = 0;
  while (at < line.length) {
    const length = line[at] === equalsSign ? escapeLength(line, at) : 0;
    const byte = length === 3 ? readHex(line, at + 1, 2) : -1;
    if (length === 0) out.push(line[at] ?? 0);
    else if (byte >= 0) out.push(byte);
    at += Math.max(1, length);
    if (at % checkEvery === 0) budget.check();
  }
  return out.bytes.subarray(0, out.length);
}
