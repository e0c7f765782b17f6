import { isUtf8 } from 'node:buffer';
import { onePass } from '../budget.ts';
import { hasUtf16Mark } from './binary-format.ts';
import { compressionOf, isZip } from './compression.ts';
import { textAmong, toReadable } from './readable.ts';

/** A text has fewer control characters; of bytes that are as good as random, one in twelve is one. */
const controlShareMin = 1 / 20;
/** Short, so that a text with binary bytes strewn in is still found in its words. */
const pieceLengthMin = 6;

/** What has no part in text: control characters other than white space and escape. */
const isControl = (byte: number): boolean => byte < 0x09 || (byte > 0x0d && byte < 0x1b);

/** Whether so many control characters stand in bytes as no text has. */
export function isBinary(bytes: Buffer): boolean {
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) if (isControl(bytes[at] as number)) count += 1;
  return count > bytes.length * controlShareMin;
}

/**
 * What a reader of text gets from content of any kind: binary bytes as the pieces of text in them, one a line, UTF-16 with a mark as
 * UTF-8, and everything else as it is. Binary bytes read as they are take twenty times as long, and show numbers by chance.
 */
export function textIn(bytes: Buffer): Buffer {
  if (isUtf8(bytes)) return bytes;
  if (hasUtf16Mark(bytes)) return toReadable(bytes, onePass()).bytes;
  // What is packed is unpacked with the other decoded forms.
  if (compressionOf(bytes) !== undefined || isZip(bytes) || !isBinary(bytes)) return bytes;
  return textAmong(bytes, pieceLengthMin, onePass());
}
