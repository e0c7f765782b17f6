import { endianness } from 'node:os';

/*
 * Finds where numbers stand that may be a card, an identifier or a phone number, reading two bytes of every eight: eight digits in a row
 * have one of them there, and so have eleven bytes of digits that single separators divide into groups of two or more
 * (`4111 1111 1111 1111`, `078-05-1120`).
 */

const isLittleEndian = endianness() === 'LE';
const isSeparator = Uint8Array.from({ length: 256 }, (_, byte) =>
  ' -.'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

const isDigitByte = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x30 && byte <= 0x39 ? 1 : 0));
const isDigit = (byte: number | undefined): boolean => byte !== undefined && isDigitByte[byte] === 1;

/** Called with a run's first byte, the byte behind it, and how many digits it has. */
export type OnRun = (start: number, end: number, digitCount: number) => void;

/**
 * Calls `onRun` for every run of eight digits in a row or of eleven bytes as above, and for some shorter ones, in the order of the text.
 * Reads each byte a few times at most.
 */
export function findDigitRuns(bytes: Uint8Array, onRun: OnRun): void {
  const firstAligned = Math.min(-bytes.byteOffset & 3, bytes.length);
  const fourCount = isLittleEndian ? (bytes.length - firstAligned) >> 2 : 0;
  let at = firstAligned;
  let done = lookAt(bytes, 0, firstAligned, 1, 0, onRun);
  if (fourCount >= 8) {
    const fours = new Int32Array(bytes.buffer, bytes.byteOffset + firstAligned, fourCount);
    for (let index = 0; index + 7 < fourCount; index += 8, at += 32) {
      const mayHaveDigit =
        digitLanes(fours[index] as number) |
        digitLanes(fours[index + 2] as number) |
        digitLanes(fours[index + 4] as number) |
        digitLanes(fours[index + 6] as number);
      if ((mayHaveDigit & 0x80008000) !== 0) done = lookAt(bytes, at, at + 32, 2, done, onRun);
    }
  }
  lookAt(bytes, at, bytes.length, 1, done, onRun);
}

/** The high bit of a half is set where its lower byte begins with the half byte 3: a digit or one of `:;<=>?`. */
const digitLanes = (four: number): number => ((four & 0x00f000f0) ^ 0x00300030) - 0x00010001;

/** Reports the runs that have a digit at one of the positions; answers up to where the text is done with. */
function lookAt(
  bytes: Uint8Array,
  from: number,
  to: number,
  step: number,
  doneBefore: number,
  onRun: OnRun,
): number {
  let done = doneBefore;
  for (let at = Math.max(from, done); at < to; at += step) {
    if (isDigitByte[bytes[at] as number] === 0) continue;
    done = reportRun(bytes, at, done, onRun);
    at = Math.max(at, done - step);
  }
  return done;
}

/** Reports the run around a digit, unless it is too short to be one, and answers where it ends. Nothing before `from` belongs to it. */
function reportRun(bytes: Uint8Array, at: number, from: number, onRun: OnRun): number {
  let start = at;
  while (start > from && isDigit(bytes[start - 1])) start--;
  let end = at + 1;
  while (isDigit(bytes[end])) end++;
  const goesOn = isLink(bytes, end, end + 1) || (start > from && isLink(bytes, start - 1, start - 2));
  if (end - start < 4 && !goesOn) return end;
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
