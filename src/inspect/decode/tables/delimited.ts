import { byteSet } from '../../kernel/bytes.ts';
import type { Span } from '../span-map.ts';
import {
  columnsMax,
  isColumnName,
  nameBytesMax,
  noteReach,
  type TableReader,
  type TakeCell,
  takeRow,
  trimmed,
} from './cell.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const tab = 0x09;
const pipe = 0x7c;
const space = 0x20;

const isDelimiter = byteSet('\t|;,');
/**
 * Characters behind which the first name begins, where text stands before the table in its line: `{"csv":"`,
 * `data=`, `Here it is: `.
 */
const isHeaderStart = byteSet('"\'`>:={}\n\x1e');
/** Such characters for rows of pipes. They are fewer, because text in these rows often has the others. */
const isPipeHeaderStart = byteSet('"\n\x1e');
/** Characters that end a table with more text behind it in its last line. */
const isTextEnd = byteSet('"\'`<');
const isRule = byteSet('-:|+= \t\r');
/** Bound on the bytes of a quoted value (RFC 4180, 2.5 to 2.7), which may span lines. */
const quotedBytesMax = 4096;

/** Reads a header and rows of its width: CSV (RFC 4180), also with tabs or semicolons, and Markdown. */
export const delimited: TableReader = {
  mayHold: ({ places }) => places.headers.length > 0,
  read(bytes, take, budget, { places }) {
    let from = 0;
    for (const lineEnd of places.headers) {
      if (lineEnd < from) continue;
      from = Math.max(readTable(bytes, lineEnd, take), lineEnd + 1);
      budget.work(from - lineEnd);
    }
  },
};

/** Takes the cells of the table whose header ends at a place, and returns its end; 0 where there is none. */
function readTable(bytes: Buffer, headerEnd: number, take: TakeCell): number {
  const delimiter = lastDelimiter(bytes, headerEnd);
  if (delimiter === 0) return 0;
  const names = headerOf(bytes, headerEnd, delimiter);
  if (!names) return 0;
  let end = 0;
  for (let start = afterRule(bytes, headerEnd + 1); ; start = end) {
    const row = readRow(bytes, start, delimiter, names.length);
    noteReach(take, names[0]?.start ?? headerEnd, row.end);
    if (!row.cells) return end;
    takeRow(names, row.cells, take);
    end = row.end;
    if (row.isLast) return end;
  }
}

/** Returns the delimiter before the last name; 0 where there is none. A Markdown row also ends with one. */
function lastDelimiter(bytes: Buffer, lineEnd: number): number {
  for (let at = lineEnd - 1; at >= Math.max(0, lineEnd - nameBytesMax); at -= 1) {
    const byte = bytes[at] ?? 0;
    if (isDelimiter[byte] === 1) return byte;
    if (byte === newline) return 0;
  }
  return 0;
}

/**
 * Returns the names in the line that ends at a place; undefined where it is no header. The line is read from
 * its end, because anything may stand before the first name.
 */
function headerOf(bytes: Buffer, lineEnd: number, delimiter: number): Span[] | undefined {
  const names: Span[] = [];
  let end = withoutSpaces(bytes, lineEnd);
  if (delimiter === pipe && bytes[end - 1] === pipe) end -= 1;
  while (names.length < columnsMax) {
    const cell = nameBefore(bytes, end, delimiter);
    if (!cell) return undefined;
    const name = trimmed(bytes, cell);
    // The first column of a list of numbered rows often has no name.
    if (name.end > name.start || (cell.isFirst && delimiter !== pipe)) {
      if (name.end > name.start && !isColumnName(bytes, name)) return undefined;
      names.push(name);
    } else if (!cell.isFirst) return undefined;
    if (cell.isFirst) return names.length > 1 ? names.reverse() : undefined;
    end = cell.before;
  }
  return undefined;
}

interface Name extends Span {
  /** The end of the cell before it. */
  readonly before: number;
  readonly isFirst: boolean;
}

function nameBefore(bytes: Buffer, end: number, delimiter: number): Name | undefined {
  const last = withoutSpaces(bytes, end);
  const isQuoted = delimiter !== pipe && bytes[last - 1] === quote;
  const nameEnd = isQuoted ? last - 1 : last;
  const isStart = delimiter === pipe ? isPipeHeaderStart : isHeaderStart;
  let start = nameEnd;
  while (start > 0 && bytes[start - 1] !== delimiter && isStart[bytes[start - 1] ?? 0] === 0) {
    start -= 1;
    if (nameEnd - start > nameBytesMax) return undefined;
  }
  const before = isQuoted ? start - 2 : start - 1;
  return { start, end: nameEnd, before, isFirst: before < 0 || bytes[before] !== delimiter };
}

/** Returns the end of a line or cell without trailing spaces. */
function withoutSpaces(bytes: Buffer, end: number): number {
  let at = end;
  while (bytes[at - 1] === space || bytes[at - 1] === carriageReturn) at -= 1;
  return at;
}

/**
 * Returns the place behind the rule that a Markdown table has below its header; `start` where there is no
 * rule.
 */
function afterRule(bytes: Buffer, start: number): number {
  let at = start;
  while (isRule[bytes[at] ?? 0] === 1) at += 1;
  return at > start && bytes[at] === newline && bytes.subarray(start, at).includes(0x2d) ? at + 1 : start;
}

interface Row {
  /** The cells; undefined where it is no row of that width. */
  readonly cells: readonly Span[] | undefined;
  /** The end of the bytes that were looked at. */
  readonly end: number;
  /** Tells whether the table ends with it. */
  readonly isLast: boolean;
}

/** Reads the row that begins at a place. */
function readRow(bytes: Buffer, start: number, delimiter: number, width: number): Row {
  const cells: Span[] = [];
  let at = start;
  if (delimiter === pipe) {
    while (bytes[at] === space) at += 1;
    if (bytes[at] === pipe) at += 1;
  }
  for (;;) {
    const { end, ...cell } = readCell(bytes, at, delimiter);
    cells.push(cell.span);
    const isFull = cells.length === width;
    if (bytes[end] === delimiter && !isFull) {
      at = end + 1;
      continue;
    }
    const noRow = { cells: undefined, end, isLast: true };
    if (!isFull) return noRow;
    const lineEnd = rowEnd(bytes, end, delimiter);
    if (lineEnd >= 0) return { cells, end: lineEnd, isLast: lineEnd >= bytes.length };
    return cell.isQuoted || delimiter === pipe || holdsTextEnd(bytes, cell.span)
      ? { cells, end, isLast: true }
      : noRow;
  }
}

function readCell(
  bytes: Buffer,
  start: number,
  delimiter: number,
): { span: Span; end: number; isQuoted: boolean } {
  let at = start;
  while (bytes[at] === space) at += 1;
  if (bytes[at] === quote) {
    const closing = closingQuote(bytes, at + 1);
    if (closing >= 0) return { span: { start: at + 1, end: closing }, end: closing + 1, isQuoted: true };
  }
  const { length } = bytes;
  let end = at;
  while (end < length && bytes[end] !== delimiter && bytes[end] !== newline) end += 1;
  return { span: trimmed(bytes, { start: at, end }), end, isQuoted: false };
}

/**
 * Returns the place of the closing quote; -1 where there is none in bounds. A quote within the value is
 * doubled.
 */
function closingQuote(bytes: Buffer, start: number): number {
  const end = Math.min(bytes.length, start + quotedBytesMax);
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== quote) continue;
    if (bytes[at + 1] !== quote) return at;
    at += 1;
  }
  return -1;
}

/** Returns the place behind the line whose last cell ends at `end`; -1 where more follows in that line. */
function rowEnd(bytes: Buffer, end: number, delimiter: number): number {
  let at = end;
  if (delimiter === pipe && bytes[at] === pipe) at += 1;
  while (bytes[at] === space || bytes[at] === carriageReturn || bytes[at] === tab) at += 1;
  if (at >= bytes.length) return at;
  return bytes[at] === newline ? at + 1 : -1;
}

function holdsTextEnd(bytes: Buffer, { start, end }: Span): boolean {
  for (let at = start; at < end; at += 1) if (isTextEnd[bytes[at] ?? 0] === 1) return true;
  return false;
}
