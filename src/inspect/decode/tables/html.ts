import { textFlags } from '../../kernel/outline.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, isColumnName, noteReach, type TableReader, type TakeCell, trimmed } from './cell.ts';

/** The number of bytes without a table tag after which a table has ended. */
const gapBytesMax = 16_384;
const tag = /<(\/?)(table|tr|th|td)(?:\s[^<>]{0,512})?>/gi;
const less = 0x3c;
const greater = 0x3e;

interface Row {
  readonly cells: Span[];
  /** Tells for each cell whether it is a `th`. */
  readonly heads: boolean[];
}

/** Reads HTML tables. A cell belongs to the header above it, and to the one at the beginning of its row. */
export const html: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.cell) !== 0,
  read(bytes, take, budget) {
    const rows = new Rows(bytes, take);
    let searched = 0;
    for (const { 0: whole, 1: closing, 2: name = '', index } of bytes.toString('latin1').matchAll(tag)) {
      budget.work(index - searched);
      if (index - searched > gapBytesMax) rows.endTable(searched + gapBytesMax);
      searched = index;
      rows.endCell(index);
      if (/^t[hd]$/i.test(name)) {
        if (!closing) rows.beginCell(index + whole.length, /h$/i.test(name));
      } else {
        rows.endRow();
        if (name.length > 2) rows.endTable(index);
      }
    }
    rows.endTable(Math.min(bytes.length, searched + gapBytesMax));
  },
};

/** Collects the rows of one table after another. */
class Rows {
  readonly #bytes: Buffer;
  readonly #take: TakeCell;
  #row: Row = { cells: [], heads: [] };
  #names: readonly Span[] | undefined;
  #cellStart = -1;
  /** The start of the table's first cell; -1 before it. */
  #start = -1;

  constructor(bytes: Buffer, take: TakeCell) {
    this.#bytes = bytes;
    this.#take = take;
  }

  beginCell(start: number, isHead: boolean): void {
    this.#cellStart = start;
    if (this.#start < 0) this.#start = start;
    this.#row.heads.push(isHead);
  }

  endCell(end: number): void {
    if (this.#cellStart >= 0) this.#row.cells.push(textOf(this.#bytes, { start: this.#cellStart, end }));
    this.#cellStart = -1;
  }

  endRow(): void {
    const { cells, heads } = this.#row;
    if (cells.length > 0) this.#takeRow(cells, heads);
    if (cells.length > 0) this.#row = { cells: [], heads: [] };
  }

  endTable(end: number): void {
    if (this.#start >= 0) noteReach(this.#take, this.#start, end);
    this.#names = undefined;
    this.#start = -1;
  }

  #takeRow(cells: readonly Span[], heads: readonly boolean[]): void {
    const [first] = cells as [Span];
    if (heads.every(Boolean) || (!this.#names && heads[0] === false)) {
      this.#names = cells
        .slice(0, columnsMax)
        .map((it) => (isColumnName(this.#bytes, it) ? it : { start: 0, end: 0 }));
      return;
    }
    for (const [index, cell] of cells.entries()) {
      if (heads[index]) continue;
      const name = this.#names?.[index];
      if (name) this.#take(name, cell);
      if (heads[0] && isColumnName(this.#bytes, first)) this.#take(first, cell);
    }
  }
}

/** Bound on the tags around a cell's whole text: `<b>`, `<a href=…>`. */
const wrappersMax = 4;

function textOf(bytes: Buffer, cell: Span): Span {
  let text = trimmed(bytes, cell);
  for (let count = 0; count < wrappersMax && bytes[text.start] === less; count += 1) {
    const close = bytes.indexOf(greater, text.start);
    if (close < 0 || close >= text.end) break;
    text = trimmed(bytes, { start: close + 1, end: text.end });
  }
  for (let count = 0; count < wrappersMax && bytes[text.end - 1] === greater; count += 1) {
    const open = bytes.lastIndexOf(less, text.end - 1);
    if (open < text.start) break;
    text = trimmed(bytes, { start: text.start, end: open });
  }
  return text;
}
