import { isAlphanumeric } from '../../kernel/bytes.ts';
import type { Outline } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import type { Span } from '../span-map.ts';

/** Receives the name of a column or field, and a value under it. */
export type TakeCell = (name: Span, value: Span) => void;

/** Reports that bytes up to `end` may belong to the table that begins at `start`, even without a cell. */
export const noteReach = (take: TakeCell, start: number, end: number): void =>
  take({ start, end: start }, { start: end, end });

/** Reads one way to write tables. */
export interface TableReader {
  /** Tells cheaply whether a text may hold such a table; nearly all do not. */
  mayHold(outline: Outline): boolean;
  /** Takes the cells, row by row, in time that is linear whatever the text. */
  read(bytes: Buffer, take: TakeCell, budget: DecodeBudget, outline: Outline): void;
}

/** Bound on the bytes of a name; longer ones are sentences. */
export const nameBytesMax = 64;
/** Bound on the columns of a row. */
export const columnsMax = 128;

const space = 0x20;
const parenthesis = 0x28;
/** The sign that, alone, names a column of numbers. */
const numberSign = 0x23;
const wordsMax = 6;
/** Characters that may stand before the first letter of a name: `# Name`, `**Name**`, `_id`. */
const isOrnament = new Set(Buffer.from('*_#`$@'));

const isBlank = (byte: number | undefined): boolean =>
  byte === space || byte === 0x09 || byte === 0x0d || byte === 0x0a;

/** Returns the span without white space at both ends. */
export function trimmed(bytes: Buffer, { start, end }: Span): Span {
  let [from, to] = [start, end];
  while (from < to && isBlank(bytes[from])) from += 1;
  while (to > from && isBlank(bytes[to - 1])) to -= 1;
  return { start: from, end: to };
}

/**
 * Tells whether a column may have this name. It must be short, with few words, and no number or code: these
 * begin rows of values.
 */
export function isColumnName(bytes: Buffer, { start, end }: Span): boolean {
  if (end <= start || end - start > nameBytesMax) return false;
  let first = start;
  while (first < end - 1 && isOrnament.has(bytes[first] ?? 0)) first += 1;
  const byte = bytes[first] ?? 0;
  if (byte === numberSign && end - start === 1) return true;
  const isLetter = byte >= 0x80 || (byte > 0x39 && isAlphanumeric(byte));
  if (!isLetter) return false;
  let words = 1;
  let open = 0;
  for (let at = first; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === space) words += 1;
    else if (byte === parenthesis) open += 1;
    else if (byte === parenthesis + 1) open -= 1;
  }
  return words <= wordsMax && open === 0;
}

/** Takes the cells of a row with the names of their columns. */
export function takeRow(names: readonly Span[], row: readonly Span[], take: TakeCell): void {
  for (const [index, value] of row.entries()) {
    const name = names[index];
    if (name) take(name, value);
  }
}
