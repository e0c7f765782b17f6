import type { DecodeBudget } from './budget.ts';
import type { EncodedText } from './packed/block-decoder.ts';
import type { Span } from './span-map.ts';
import type { TableReader } from './tables/cell.ts';
import { copy } from './tables/copy.ts';
import { delimited } from './tables/delimited.ts';
import { html } from './tables/html.ts';
import { insert } from './tables/insert.ts';
import { jsonFields } from './tables/json-fields.ts';
import { jsonGrid } from './tables/json-grid.ts';
import { jsonValues } from './tables/json-values.ts';
import { LabelledCells } from './tables/labelled-cells.ts';
import { multipart } from './tables/multipart.ts';

/*
 * Reads the cells of tables once more, each behind the name of its column, as fields of a record. The word
 * that says what a number is stands at the top of its column. Rows stay in order, and findings lie in the
 * cell alone. A table that is not recognised is still read as text. Cells have a budget of their own, so that
 * a text of any length that is one table is readable.
 */

/** The readers of table formats. A new one needs a file and a line here. */
const readers: readonly TableReader[] = [
  delimited,
  html,
  insert,
  copy,
  jsonFields,
  jsonGrid,
  jsonValues,
  multipart,
];

/**
 * The length that all cells may have, in lengths of the text: names of ten letters stand before values of
 * ten.
 */
const roomFactor = 2;

/**
 * Returns the cells of all tables as `name: value`, without those that `isKnown`; undefined where there are
 * none. `reaches` receives the stretches that need the header before them.
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
