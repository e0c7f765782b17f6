import type { DecodeBudget } from './budget.ts';
import type { EncodedText } from './packed/block-decoder.ts';
import type { Span } from './span-map.ts';
import type { TableReader } from './tables/cell.ts';
import { delimited } from './tables/delimited.ts';
import { html } from './tables/html.ts';
import { insert } from './tables/insert.ts';
import { jsonFields } from './tables/json-fields.ts';
import { jsonGrid } from './tables/json-grid.ts';
import { LabelledCells } from './tables/labelled-cells.ts';

/*
 * A number says what it is by the word before it, and in a table that word stands at the top of the column. So the cells of a table are
 * read once more, each behind the name of its column, as the fields of a record are. Rows stay in their order, and what is found
 * lies in the cell alone. A table that nobody recognises is still read as the text it is. Cells have room beside what may be decoded,
 * so that a text of any length is readable that is one table.
 */

/** Ways to write tables. A new one is a file and a line here. */
const readers: readonly TableReader[] = [delimited, html, insert, jsonFields, jsonGrid];

/** Of a text: names of ten letters stand before values of ten. */
const roomFactor = 2;

/**
 * The cells of the tables in a text as `name: value`, apart from those that `isKnown`; undefined where there are none. `reaches` gets the
 * stretches in which a row counts with a header before it.
 */
export function readTables(
  { bytes, outline }: Pick<EncodedText, 'bytes' | 'outline'>,
  isKnown: (span: Span) => boolean,
  separator: Buffer,
  budget: DecodeBudget,
  reaches: { start: number; end: number }[],
): LabelledCells | undefined {
  let cells: LabelledCells | undefined;
  let room = bytes.length * roomFactor;
  for (const reader of readers) {
    if (!reader.mayHold(outline)) continue;
    const take = (name: Span, value: Span): void => {
      const span = { start: Math.min(name.start, value.start), end: Math.max(name.end, value.end) };
      if (isKnown(span)) return;
      const last = reaches.at(-1);
      if (last && last.start <= span.start && span.start <= last.end) last.end = Math.max(last.end, span.end);
      else reaches.push(span);
      if (name.end === name.start) return;
      cells ??= new LabelledCells(bytes, separator);
      const length = cells.add(name, value);
      budget.work(length);
      room -= length;
      if (room < 0) {
        budget.spend(-room);
        room = 0;
      }
    };
    reader.read(bytes, take, budget, outline);
  }
  return cells && cells.length > 0 ? cells : undefined;
}
