import { endianness } from 'node:os';

/*
 * Finds where numbers stand that are long enough to be a card or an identifier, without reading every byte: a number that has four
 * digits in a row has one of them at every fourth position. A run goes over single separators: `4111 1111 1111 1111`, `078-05-1120`.
 */

const isLittleEndian = endianness() === 'LE';
const isSeparator = Uint8Array.from({ length: 256 }, (_, byte) =>
  ' -.'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Called with a run's first byte, the byte behind it, and how many digits it has. */
export type OnRun = (start: number, end: number, digitCount: number) => void;

/** Calls `onRun` for every run with at least four digits in a row, in the order of the text; reads each byte a few times at most. */
export function findDigitRuns(bytes: Uint8Array, onRun: OnRun): void {
  const firstAligned = -bytes.byteOffset & 3;
  const fourCount = isLittleEndian ? Math.max(0, (bytes.length - firstAligned) >> 2) : 0;
  let done = 0;
  const look = (at: number): void => {
    if (at >= done && isDigit(bytes[at])) done = reportRun(bytes, at, done, onRun);
  };
  for (let at = 0; at < Math.min(firstAligned, bytes.length); at++) look(at);
  if (fourCount > 0) {
    const fours = new Int32Array(bytes.buffer, bytes.byteOffset + firstAligned, fourCount);
    const last = fourCount - 3;
    let index = 0;
    for (; index < last; index += 4) {
      // A high half byte of 3 is a digit or one of `:;<=>?`; `look` tells them apart.
      const a = ((fours[index] as number) & 0xf0) ^ 0x30;
      const b = ((fours[index + 1] as number) & 0xf0) ^ 0x30;
      const c = ((fours[index + 2] as number) & 0xf0) ^ 0x30;
      const d = ((fours[index + 3] as number) & 0xf0) ^ 0x30;
      if (a === 0 || b === 0 || c === 0 || d === 0) {
        const at = firstAligned + 4 * index;
        look(at);
        look(at + 4);
        look(at + 8);
        look(at + 12);
      }
    }
    for (; index < fourCount; index++) look(firstAligned + 4 * index);
  }
  for (let at = firstAligned + 4 * fourCount; at < bytes.length; at++) look(at);
}

/**
 * Reports the run around a digit and answers up to where the text is done with. Nothing before `from` belongs to the run. Up to three
 * digits that stand alone, as in hexadecimal text, are none.
 */
function reportRun(bytes: Uint8Array, at: number, from: number, onRun: OnRun): number {
  let start = at;
  while (start > from && isDigit(bytes[start - 1])) start--;
  let end = at + 1;
  while (isDigit(bytes[end])) end++;
  const isShort = end - start < 4 && !isLink(bytes, end, end + 1) && !(start > from && isLink(bytes, start - 1, start - 2));
  if (isShort) return end;
  while (start > from && (isDigit(bytes[start - 1]) || isLink(bytes, start - 1, start - 2))) start--;
  while (isDigit(bytes[end]) || isLink(bytes, end, end + 1)) end++;
  let digitCount = 0;
  for (let index = start; index < end; index++) if (isDigit(bytes[index])) digitCount++;
  onRun(start, end, digitCount);
  return end;
}

/** A separator with a digit on its far side. */
const isLink = (bytes: Uint8Array, at: number, beyond: number): boolean =>
  isSeparator[bytes[at] ?? 0] === 1 && isDigit(bytes[beyond]);
