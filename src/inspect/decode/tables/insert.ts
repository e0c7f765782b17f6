import { byteSet } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { runEnd } from '../runs.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, isColumnName, noteReach, type TableReader, takeRow, trimmed } from './cell.ts';

const open = 0x28;
const close = 0x29;
const comma = 0x2c;
const backslash = 0x5c;
const isQuote = byteSet('\'"');
const signs = ['VALUES', 'values', 'Values'].map((it) => Buffer.from(it));

const isSpace = byteSet('\t\n\v\f\r \xa0');
/** Characters that end a list of columns, because no column is named with them. */
const endsList = byteSet("()'=");
const signBytes = 6;
const spaceMax = 64;
const listBytesMin = 3;
const listBytesMax = 2048;

const rowBytesMax = 16_384;

/**
 * Reads rows of SQL with a list of their columns: `INSERT INTO people (name, id) VALUES (…), (…)` (SQL-92,
 * 13.8), also in REPLACE and MERGE.
 */
export const insert: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.values) !== 0,
  read(bytes, take, budget) {
    let readTo = 0;
    for (const sign of placesOf(bytes, budget)) {
      const list = listBefore(bytes, sign);
      // A row without an end is not read again.
      if (!list || list.start <= readTo) continue;
      const names = namesOf(bytes, list);
      for (let at = runEnd(bytes, sign + signBytes, isSpace, spaceMax); names && bytes[at] === open; ) {
        const { cells, end: rowEnd } = readRow(bytes, at);
        budget.work(rowEnd - at);
        noteReach(take, list.start, rowEnd);
        readTo = rowEnd;
        if (cells.length !== names.length) break;
        takeRow(names, cells, take);
        const next = skipSpace(bytes, rowEnd);
        at = bytes[next] === comma ? skipSpace(bytes, next + 1) : next;
        if (at === next) break;
      }
    }
  },
};

/** Yields the places of the word VALUES, from left to right. */
function* placesOf(bytes: Buffer, budget: DecodeBudget): Iterable<number> {
  const next = signs.map((sign) => bytes.indexOf(sign));
  for (;;) {
    const at = Math.min(...next.filter((it) => it >= 0));
    if (at === Number.POSITIVE_INFINITY) return;
    budget.work(signBytes);
    yield at;
    const which = next.indexOf(at);
    next[which] = bytes.indexOf(signs[which] as Buffer, at + signBytes);
  }
}

/**
 * Returns the content of the parentheses that end at a place, if it may be a list of columns; else undefined.
 */
function listBefore(bytes: Buffer, signStart: number): Span | undefined {
  let end = signStart;
  while (signStart - end < spaceMax && isSpace[bytes[end - 1] ?? 0] === 1) end -= 1;
  end -= 1;
  if (bytes[end] !== close) return undefined;
  let start = end;
  while (end - start < listBytesMax && endsList[bytes[start - 1] ?? close] === 0) start -= 1;
  return bytes[start - 1] === open && end - start >= listBytesMin ? { start, end } : undefined;
}

/**
 * Returns the names without the marks of quoted identifiers: `"name"`, `[name]`, and backticks. Returns
 * undefined where one can be no name of a column.
 */
export function namesOf(bytes: Buffer, list: Span): Span[] | undefined {
  const names: Span[] = [];
  for (let start = list.start; start <= list.end; ) {
    // The comma is looked for within the list, since the next one behind it may be far off.
    const length = bytes.subarray(start, list.end).indexOf(comma);
    const end = length < 0 ? list.end : start + length;
    let name = trimmed(bytes, { start, end });
    while (name.end > name.start && '"`[\\'.includes(String.fromCharCode(bytes[name.start] ?? 0)))
      name = { ...name, start: name.start + 1 };
    while (name.end > name.start && '"`]\\'.includes(String.fromCharCode(bytes[name.end - 1] ?? 0)))
      name = { ...name, end: name.end - 1 };
    if (!isColumnName(bytes, name) || names.length === columnsMax) return undefined;
    names.push(name);
    start = end + 1;
  }
  return names;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20) at += 1;
  return at;
}

/**
 * Returns the values between parentheses, strings without their quotes. Returns none where the parentheses
 * are not closed in bounds.
 */
function readRow(bytes: Buffer, start: number): { cells: Span[]; end: number } {
  const limit = Math.min(bytes.length, start + rowBytesMax);
  const cells: Span[] = [];
  let cellStart = start + 1;
  let depth = 1;
  for (let at = cellStart; at < limit; at += 1) {
    const byte = bytes[at] ?? 0;
    if (isQuote[byte] === 1) at = stringEnd(bytes, at, limit);
    else if (byte === open) depth += 1;
    else if (byte === close) depth -= 1;
    if (depth > 0 && (byte !== comma || depth > 1)) continue;
    cells.push(contentOf(bytes, { start: cellStart, end: at }));
    cellStart = at + 1;
    if (depth === 0) return { cells, end: at + 1 };
    if (cells.length === columnsMax) break;
  }
  return { cells: [], end: limit };
}

/**
 * Returns the end of the string that begins at a place. A quote in the string is escaped, or doubled, which
 * makes two strings here.
 */
function stringEnd(bytes: Buffer, start: number, limit: number): number {
  let at = start + 1;
  while (at < limit && bytes[at] !== bytes[start]) at += bytes[at] === backslash ? 2 : 1;
  return at;
}

function contentOf(bytes: Buffer, cell: Span): Span {
  const { start, end } = trimmed(bytes, cell);
  const isString = end - start > 1 && isQuote[bytes[start] ?? 0] === 1 && bytes[end - 1] === bytes[start];
  return isString ? { start: start + 1, end: end - 1 } : { start, end };
}
