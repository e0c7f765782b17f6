import { CsvReader } from '../csv.ts';
import type { Reader } from '../readers.ts';

/** Returns the value of a column in a row, or '' where there is none. */
type Row = (column: string) => string;

/**
 * Reads CSV by the names of its columns, in any order. The names come from the first row, or from a comment
 * before it. Without them `columns` holds. A row of names is recognised by `mark`, one of its columns.
 */
export function readColumns(columns: readonly string[], mark: string, onRow: (row: Row) => void): Reader {
  let places = placesOf(columns);
  let isFirst = true;
  const isHeader = (names: readonly string[]): boolean => {
    const found = placesOf(names);
    if (!isFirst || !found.has(mark)) return false;
    places = found;
    return true;
  };
  return new CsvReader({
    onComment: (text) => {
      isHeader(text.split(','));
    },
    onRow(fields) {
      const wasHeader = isHeader(fields);
      isFirst = false;
      if (!wasHeader) onRow((column) => fields[places.get(column) ?? -1] ?? '');
    },
  });
}

const placesOf = (names: readonly string[]): ReadonlyMap<string, number> =>
  new Map(names.map((name, at) => [name.trim().toLowerCase(), at]));
