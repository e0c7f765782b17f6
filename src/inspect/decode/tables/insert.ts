import { byteSet } from '../../kernel/bytes.ts';
import { textFlags } from '../../kernel/outline.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, isColumnName, noteReach, type TableReader, takeRow, trimmed } from './cell.ts';

const open = 0x28;
const close = 0x29;
const comma = 0x2c;
const backslash = 0x5c;
const isQuote = byteSet('\'"');
/** Matches what may be a list of columns before VALUES and a row. No column is named with a sign of `()'=`. */
const listBeforeRow = /\(([^()'=]{3,2048})\)\s{0,64}values\s{0,64}(?=\()/gi;

const rowBytesMax = 16_384;

/**
 * Reads rows of SQL with a list of their columns: `INSERT INTO people (name, id) VALUES (…), (…)` (SQL-92,
 * 13.8), also in REPLACE and MERGE.
 */
export const insert: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.values) !== 0,
  read(bytes, take, budget) {
    let readTo = 0;
    for (const { 0: whole, 1: columns = '', index } of bytes.toString('latin1').matchAll(listBeforeRow)) {
      budget.work(whole.length);
      // A row without an end is not read again.
      if (index < readTo) continue;
      const list = { start: index + 1, end: index + 1 + columns.length };
      const names = namesOf(bytes, list);
      for (let at = index + whole.length; names && bytes[at] === open; ) {
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
