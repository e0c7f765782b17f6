import { isUtf8 } from 'node:buffer';
import { onePass } from '../budget.ts';
import { hasUtf16Mark } from './binary-format.ts';
import { compressionOf, isZip } from './compression.ts';
import { textAmong, toReadable } from './readable.ts';

/** The share of control characters that no text reaches; one in twelve random bytes is such a character. */
const controlShareMin = 1 / 20;
/**
 * The least number of bytes of a piece of text. It is short, so that words of a text with scattered binary
 * bytes are still found.
 */
const pieceLengthMin = 6;

/** Tells whether a byte is a control character that no text has. White space and escape do not count. */
const isControl = (byte: number): boolean => byte < 0x09 || (byte > 0x0d && byte < 0x1b);

/** Tells whether bytes have more control characters than any text. */
export function isBinary(bytes: Buffer): boolean {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) if (isControl(bytes[at] as number)) count += 1;
  return count > bytes.length * controlShareMin;
}

/**
 * Returns content as a reader of text gets it. Binary bytes become the pieces of text in them, one a line;
 * UTF-16 with a mark becomes UTF-8; everything else is unchanged. Raw binary bytes take twenty times as long
 * to search, and contain numbers by accident.
 */
export function textIn(bytes: Buffer): Buffer {
  if (isUtf8(bytes)) return bytes;
  if (hasUtf16Mark(bytes)) return toReadable(bytes, onePass()).bytes;
  // Packed content is unpacked with the other decoded forms.
  if (compressionOf(bytes) !== undefined || isZip(bytes) || !isBinary(bytes)) return bytes;
  return textAmong(bytes, pieceLengthMin, onePass());
}
