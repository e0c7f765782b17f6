import { isHexDigit, readHex } from '../scan/bytes.ts';
import { blockFlags, nextBreak, textFlags } from '../scan/outline.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import type { Budget } from './budget.ts';

const newline = 0x0a;
const tab = 0x09;
const space = 0x20;
const colon = 0x3a;
const dot = 0x2e;
const bar = 0x7c;
const lineBytesMax = 160;
const lineOctetsMax = 32;
const textMin = 8;
const offsetLengthMin = 4;
const offsetLengthMax = 16;
/** Groups of digits. */
const signs = blockFlags.rhythm | blockFlags.digit;
/** The offset, not of a number that goes on to the left, and what stands behind it. */
const offset = /(?<![0-9A-Za-z])[0-9A-Fa-f]{4,16}:?[ \t]{1,4}(?=[0-9A-Fa-f]{2})/;

/**
 * The bytes of a dump as `xxd`, `hexdump -C` and `od -t x1` write it: lines of an offset, groups of hexadecimal digits, and the same
 * as text. Lines that follow each other are one value; told by the second of them, because other text may stand before the first.
 */
export const hexDump: BlockDecoder = {
  name: 'hex-dump',
  needs: textFlags.newline,
  *find({ bytes, outline }: EncodedText, budget: Budget): Iterable<Block> {
    if ((outline.flags & signs) !== signs) return;
    let end = 0;
    for (let at = nextBreak(outline, 0); at >= 0; at = nextBreak(outline, Math.max(at + 1, end))) {
      budget.work(offsetLengthMin);
      if (!mayBeRow(bytes, at + 1)) continue;
      const dump = readDump(bytes, Math.max(end, at - lineBytesMax), { second: at + 1, budget });
      if (!dump) continue;
      end = dump.end;
      yield dump;
    }
  },
};

/** Whether digits begin the line, then perhaps a colon, and a space: nearly all lines are sent away by that. */
function mayBeRow(bytes: Buffer, line: number): boolean {
  if (!isHexDigit(bytes[line]) || readHex(bytes, line, offsetLengthMin) < 0) return false;
  let at = line + offsetLengthMin;
  while (at < line + offsetLengthMax && readHex(bytes, at, 1) >= 0) at += 1;
  if (bytes[at] === colon) at += 1;
  return bytes[at] === space || bytes[at] === tab;
}

/** The lines of a dump from the one at `second` on, and the one before it, which begins at `from` or behind it. */
function readDump(
  bytes: Buffer,
  from: number,
  { second, budget }: { second: number; budget: Budget },
): Block | undefined {
  const before = bytes.subarray(from, second);
  const lineStart = before.lastIndexOf(newline, -2) + 1;
  let row = readRow(before.subarray(lineStart));
  if (!row) return undefined;
  const start = from + lineStart + row.start;
  const octets = [...row.octets];
  let end = from + lineStart + row.end;
  for (let line = second; line < bytes.length; ) {
    const next = lineEnd(bytes, line);
    budget.work(next - line);
    row = readRow(bytes.subarray(line, next));
    if (row?.start !== 0) break;
    octets.push(...row.octets);
    end = line + row.end;
    line = next;
  }
  return octets.length < textMin ? undefined : { start, end, bytes: Buffer.from(octets) };
}

/** Behind the line break of a line, or so many bytes on. */
function lineEnd(bytes: Buffer, start: number): number {
  const limit = Math.min(bytes.length, start + lineBytesMax);
  let end = start;
  while (end < limit && bytes[end] !== newline) end += 1;
  return Math.min(end + 1, bytes.length);
}

interface Row {
  readonly start: number;
  readonly end: number;
  readonly octets: readonly number[];
}

/** A line of a dump; undefined for any other. */
function readRow(line: Buffer): Row | undefined {
  const found = offset.exec(line.toString('latin1'));
  if (!found) return undefined;
  const hasColon = found[0].includes(':');
  const octets: number[] = [];
  let at = found.index + found[0].length;
  while (octets.length < lineOctetsMax) {
    const octet = readHex(line, at, 2);
    if (octet < 0) break;
    octets.push(octet);
    at += 2;
    if (line[at] === space) at += 1;
    // `hexdump -C` leaves a gap in the middle; elsewhere a gap leads to the text.
    if (line[at] === space && octets.length === 8 && !hasColon) at += 1;
  }
  return octets.length === 0 ? undefined : { start: found.index, end: endOfRow(line, at, octets), octets };
}

/** Behind the text which repeats the octets, in bars or without, as far as it does. */
function endOfRow(line: Buffer, octetsEnd: number, octets: readonly number[]): number {
  let at = octetsEnd;
  while (line[at] === space) at += 1;
  if (line[at] === bar) at += 1;
  const start = at;
  while (at - start < octets.length && (line[at] === octets[at - start] || line[at] === dot)) at += 1;
  if (at === start) return octetsEnd;
  return line[at] === bar ? at + 1 : at;
}
