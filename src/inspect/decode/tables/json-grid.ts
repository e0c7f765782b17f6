import { textFlags } from '../../kernel/outline.ts';
import { type JsonTokenKind, JsonTokens } from '../json-tokens.ts';
import type { Span } from '../span-map.ts';
import { columnsMax, isColumnName, noteReach, type TableReader, type TakeCell, takeRow } from './cell.ts';
import { enclosingObject, labelNames, memberNameOf } from './json-names.ts';

const opening = 0x5b;
const quote = 0x22;
/** Names of members that list the columns of rows beside them. */
const headerNames = new Set(['columns', 'columnnames', 'cols', 'headers', 'header', 'fields', 'keys']);
/** Bound on the depth of values that are searched for tables. Deeper ones are only walked. */
const depthMax = 32;
/** Bound on the bytes before the rows in which the list of columns is looked for. */
const objectBytesMax = 4096;

interface Frame {
  readonly isObject: boolean;
  /** The name of the current member of an object; its value follows once the colon was seen. */
  member: string;
  isValue: boolean;
  /** The label of an object that describes a column; undefined where it has none. */
  label: Span | undefined;
  header: readonly Span[];
  /** The rows in each array of an object. */
  readonly tables: (readonly Row[])[];
  /** The contents of an array: texts and numbers, then arrays, then labels of objects. */
  readonly cells: Span[];
  readonly rows: Row[];
  readonly labels: Span[];
}

type Row = readonly Span[];

const frameOf = (isObject: boolean): Frame => ({
  ...{ isObject, member: '', isValue: false, label: undefined },
  ...{ header: [], tables: [], cells: [], rows: [], labels: [] },
});

/** Reads arrays of arrays, under a header row or beside their columns: `{"columns": […], "rows": [[…]]}`. */
export const jsonGrid: TableReader = {
  mayHold: ({ flags }) => (flags & textFlags.grid) !== 0,
  read(bytes, take, budget) {
    let walked = { start: 0, end: 0 };
    // An object around walked text is walked from its start. In sum, that is at most the whole text again.
    let againBytes = bytes.length;
    for (let grid = nextGrid(bytes, 0); grid >= 0; grid = nextGrid(bytes, walked.end)) {
      const from = Math.max(againBytes > 0 ? 0 : walked.end, grid - objectBytesMax);
      const { object, reached } = enclosingObject(bytes, grid, from, walked);
      const start = object ?? grid;
      againBytes -= Math.max(0, walked.end - reached);
      const work = (length: number): void => budget.work(length);
      const reachedEnd = new GridWalk(bytes, start, take).run(work);
      // The walk did not reach the grid, since the text before it may be code. So it begins at the grid.
      const end = reachedEnd > grid ? reachedEnd : new GridWalk(bytes, grid, take).run(work);
      walked = { start, end: Math.max(grid + 2, end) };
    }
  },
};

/** Returns the start of the next array of arrays; -1 where there is none. */
function nextGrid(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(opening, from); at >= 0; at = bytes.indexOf(opening, at + 1)) {
    let next = at + 1;
    while ((bytes[next] ?? 0x21) <= 0x20) next += 1;
    if (bytes[next] === opening) return at;
    at = next - 1;
  }
  return -1;
}

/** Walks one value. Rows wait until their object ends, since the list of columns may follow them. */
class GridWalk {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #tokens: JsonTokens;
  readonly #take: TakeCell;
  readonly #open: Frame[] = [];
  /** The number of open containers beyond the bound. */
  #deeper = 0;

  constructor(bytes: Buffer, start: number, take: TakeCell) {
    this.#bytes = bytes;
    this.#start = start;
    this.#tokens = new JsonTokens(bytes, start);
    this.#take = take;
  }

  /**
   * Walks the value. Returns its end, or the place where it stops to be a value. `work` receives the bytes
   * walked.
   */
  run(work: (length: number) => void): number {
    const tokens = this.#tokens;
    let before: JsonTokenKind = ',';
    do {
      const from = tokens.end;
      const kind = tokens.next();
      if (kind === 'end') {
        const hasRows = this.#open.some(({ rows, tables }) => rows.length + tables.length > 0);
        if (hasRows) noteReach(this.#take, this.#start, this.#bytes.length);
        return this.#bytes.length;
      }
      // Two words side by side are prose or code.
      if (kind === 'scalar' && before === 'scalar') return tokens.end;
      before = kind;
      work(tokens.end - from);
      this.#step(kind);
    } while (this.#open.length > 0);
    return tokens.end;
  }

  #step(kind: JsonTokenKind): void {
    const isOpening = kind === '{' || kind === '[';
    const isClosing = kind === '}' || kind === ']';
    const frame = this.#open.at(-1);
    if (this.#deeper > 0 || (isOpening && this.#open.length === depthMax))
      this.#deeper += isOpening ? 1 : isClosing ? -1 : 0;
    else if (isOpening) this.#open.push(frameOf(kind === '{'));
    else if (isClosing) this.#close();
    else if (!frame) return;
    else if (kind === ':') frame.isValue = true;
    else if (kind === ',') frame.isValue = false;
    else if (frame.isObject) this.#member(frame, kind);
    else if (frame.cells.length <= columnsMax) frame.cells.push(this.#tokens.content);
  }

  #member(frame: Frame, kind: JsonTokenKind): void {
    if (!frame.isValue) frame.member = memberNameOf(this.#bytes, this.#tokens);
    else if (kind === 'string' && !frame.label && labelNames.has(frame.member))
      frame.label = this.#tokens.content;
  }

  #close(): void {
    const frame = this.#open.pop();
    const parent = this.#open.at(-1);
    // In JSON within a JSON string, the quote behind the value ends that string.
    if (this.#bytes[this.#tokens.end] === quote) this.#tokens.end += 1;
    if (!frame) return;
    if (!frame.isObject) this.#closeArray(frame, parent);
    else {
      for (const rows of frame.tables) this.#takeRows(frame.header, rows);
      if (frame.label && parent && parent.labels.length < columnsMax) parent.labels.push(frame.label);
    }
  }

  #closeArray({ cells, rows, labels }: Frame, parent: Frame | undefined): void {
    if (parent?.isObject) {
      const columns = labels.length > 0 ? labels : cells;
      if (rows.length > 0) parent.tables.push(rows);
      else if (headerNames.has(parent.member)) parent.header = columns;
    } else if (rows.length > 0) this.#takeRows([], rows);
    else parent?.rows.push(cells);
  }

  /**
   * Takes rows under the columns if they are as wide. Else it takes them under the first row, if that has
   * only names.
   */
  #takeRows(columns: readonly Span[], rows: readonly Row[]): void {
    const [first = []] = rows;
    const isBeside = columns.length > 0 && first.length === columns.length;
    const names = isBeside ? columns : first;
    if (names.length > columnsMax || !names.every((name) => this.#isQuoted(name))) return;
    const start = Math.min(names[0]?.start ?? 0, first[0]?.start ?? 0);
    noteReach(this.#take, start, rows.at(-1)?.at(-1)?.end ?? start);
    for (const row of isBeside ? rows : rows.slice(1)) {
      if (row.length !== names.length) return;
      takeRow(names, row, this.#take);
    }
  }

  #isQuoted(name: Span): boolean {
    return this.#bytes[name.start - 1] === quote && isColumnName(this.#bytes, name);
  }
}
