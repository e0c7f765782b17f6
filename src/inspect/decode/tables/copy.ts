import { textFlags } from '../../kernel/outline.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, noteReach, type TableReader, takeRow } from './cell.ts';
import { namesOf } from './insert.ts';

const newline = 0x0a;
const tab = 0x09;
const sign = Buffer.from('FROM stdin');
/** Matches a list of columns before rows that follow in the text, with the rest of its line. */
const listBeforeRows = /\(([^()'=]{3,2048})\)\s{1,64}FROM stdin[^\n]{0,128}\n/g;
const rowBytesMax = 16_384;

/** Reads rows behind a list of their columns, as `pg_dump` writes them: `COPY people (name, id) FROM stdin;`. */
export const copy: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.parenthesis) !== 0,
  read(bytes, take, budget) {
    // Cells stand between tabs, which are found much faster than the sign.
    if (!bytes.includes(tab) || !bytes.includes(sign)) return;
    let readTo = 0;
    for (const { 0: whole, 1: columns = '', index } of bytes.toString('latin1').matchAll(listBeforeRows)) {
      budget.work(whole.length);
      // Rows are not read again.
      if (index < readTo) continue;
      const list = { start: index + 1, end: index + 1 + columns.length };
      const names = namesOf(bytes, list);
      for (let start = index + whole.length; names && start < bytes.length; ) {
        const row = rowAt(bytes, start);
        budget.work(row.end - start);
        noteReach(take, list.start, row.end);
        readTo = row.end;
        if (row.cells.length !== names.length) break;
        takeRow(names, row.cells, take);
        start = row.end + 1;
      }
    }
  },
};

/** Returns the cells of the line that begins at a place. */
function rowAt(bytes: Buffer, start: number): { cells: Span[]; end: number } {
  const length = bytes.subarray(start, start + rowBytesMax).indexOf(newline);
  const end = length < 0 ? Math.min(bytes.length, start + rowBytesMax) : start + length;
  const cells: Span[] = [];
  for (let at = start; at <= end && cells.length <= columnsMax; ) {
    const cellLength = bytes.subarray(at, end).indexOf(tab);
    const cellEnd = cellLength < 0 ? end : at + cellLength;
    cells.push({ start: at, end: cellEnd });
    at = cellEnd + 1;
  }
  return { cells, end };
}
