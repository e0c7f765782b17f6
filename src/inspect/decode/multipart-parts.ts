import { standsAt } from '../kernel/bytes.ts';
import type { Span } from './span-map.ts';

/** A part of a multipart body: its header fields, and the content behind the empty line. */
export interface BodyPart {
  readonly head: Span;
  readonly content: Span;
}

const partsMax = 10_000;
const delimiterMax = 80;
const dashes = Buffer.from('--');
const newline = 0x0a;
const carriageReturn = 0x0d;
const dash = 0x2d;

/** Tells whether the first byte may begin a delimiter, or a line end before one. */
export const beginsLikeDelimiter = (bytes: Buffer): boolean =>
  bytes[0] === dash || bytes[0] === newline || bytes[0] === carriageReturn;

/**
 * Returns the parts between the delimiter lines of a multipart body (RFC 2046, 5.1); its first line is the
 * delimiter. Returns none without a delimiter or with more than 10,000 parts: then no structure could be
 * kept.
 */
export function multipartParts(bytes: Buffer): BodyPart[] {
  const delimiter = firstDelimiter(bytes);
  if (!delimiter) return [];
  const parts: BodyPart[] = [];
  let start = bytes.indexOf(delimiter) + delimiter.length;
  while (!standsAt(bytes, dashes, start)) {
    if (parts.length === partsMax) return [];
    const next = nextDelimiter(bytes, start, delimiter);
    parts.push(partOf(bytes, lineBehind(bytes, start), next < 0 ? bytes.length : lineBefore(bytes, next)));
    if (next < 0) break;
    start = next + delimiter.length;
  }
  return parts;
}

/** Returns `--boundary`, where the body begins with it, perhaps behind line ends. */
function firstDelimiter(bytes: Buffer): Buffer | undefined {
  let start = 0;
  while (bytes[start] === carriageReturn || bytes[start] === newline) start += 1;
  if (!standsAt(bytes, dashes, start)) return undefined;
  const line =
    bytes
      .subarray(start, start + delimiterMax)
      .toString('latin1')
      .split('\n', 1)[0] ?? '';
  const delimiter = line.trimEnd();
  return delimiter.length > dashes.length ? Buffer.from(delimiter, 'latin1') : undefined;
}

function nextDelimiter(bytes: Buffer, from: number, delimiter: Buffer): number {
  let at = bytes.indexOf(delimiter, from);
  while (at > 0 && bytes[at - 1] !== newline) at = bytes.indexOf(delimiter, at + 1);
  return at;
}

function partOf(bytes: Buffer, start: number, end: number): BodyPart {
  const limit = Math.max(start, end);
  let lineStart = start;
  for (;;) {
    const newlineAt = bytes.indexOf(newline, lineStart);
    if (newlineAt < 0 || newlineAt >= limit)
      return { head: { start, end: start }, content: { start, end: limit } };
    const isEmpty =
      newlineAt === lineStart || (newlineAt === lineStart + 1 && bytes[lineStart] === carriageReturn);
    if (isEmpty) return { head: { start, end: lineStart }, content: { start: newlineAt + 1, end: limit } };
    lineStart = newlineAt + 1;
  }
}

function lineBehind(bytes: Buffer, at: number): number {
  const newlineAt = bytes.indexOf(newline, at);
  return newlineAt < 0 ? bytes.length : newlineAt + 1;
}

/** Returns the end of the line before a delimiter, whose line end belongs to the delimiter. */
const lineBefore = (bytes: Buffer, at: number): number =>
  bytes[at - 2] === carriageReturn ? at - 2 : at - 1;
