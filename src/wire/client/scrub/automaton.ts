import { dropped, type ScrubView } from './needles.ts';

/*
 * The automaton of Aho and Corasick for needles in several views at once, one root each. It is fed from the
 * end of the bytes to their beginning: a state says which needles begin at a place. Whatever stands there, a
 * character costs one look into a table.
 */

export interface Needle {
  readonly view: ScrubView;
  readonly characters: Buffer;
}

export interface Automaton {
  /** Column of each byte. Bytes that no view tells apart share one. */
  readonly columns: Uint8Array;
  /** Next states: the one behind a state and a column is `next[(state & rowMask) + column]`. */
  readonly next: Int32Array;
  /** The first state of each view. */
  readonly roots: readonly number[];
  /** Returns the needles whose first `depthMax` characters stand here: some where the state is negative. */
  needlesAt(state: number): readonly Needle[];
}

/** Characters of a needle that make states. The characters behind them are compared one by one. */
const depthMax = 256;

/** A state is the place of its row in the table. In a negative one needles begin. */
const found = 1 << 31;
export const rowMask = ~found;

const noNeedles: readonly Needle[] = [];

/** Makes an automaton. It yields behind each needle and each row, so that no step is long. */
export function* makeAutomaton(views: readonly ScrubView[]): Generator<undefined, Automaton> {
  const { columns, samples } = toColumns(views);
  const table = new Table(samples.length, rowsMaxOf(views));
  const roots: number[] = [];
  for (const view of views) {
    const meanings = samples.map((byte) => view.meanings[byte] as number);
    const root = table.addRow();
    for (const characters of view.needles) {
      table.addNeedle(root, { view, characters }, meanings);
      yield;
    }
    yield* table.link(root, meanings);
    roots.push(table.stateOf(root));
  }
  return { columns, next: table.next, roots, needlesAt: (state) => table.needlesAt(state) };
}

/**
 * The table while it is made: first as tries, in which an entry is the row of a child, or 0. Rows are numbers
 * in arrays. Collections of garbage would copy thousands of objects meanwhile.
 */
class Table {
  readonly next: Int32Array;
  readonly #width: number;
  readonly #needles = new Map<number, readonly Needle[]>();
  /** Of each row, its first child and the next child of its parent, 0 where there is none. */
  readonly #firstChild: Int32Array;
  readonly #nextChild: Int32Array;
  /** The column in which the parent of a row has it. */
  readonly #columnIn: Int32Array;
  /** The row of the longest shorter suffix with which needles may go on. */
  readonly #fallback: Int32Array;
  #rows = 0;

  constructor(width: number, rowsMax: number) {
    this.#width = width;
    this.next = new Int32Array(width * rowsMax);
    this.#firstChild = new Int32Array(rowsMax);
    this.#nextChild = new Int32Array(rowsMax);
    this.#columnIn = new Int32Array(rowsMax);
    this.#fallback = new Int32Array(rowsMax);
  }

  stateOf(row: number): number {
    return this.#needles.has(row) ? (row * this.#width) | found : row * this.#width;
  }

  needlesAt(state: number): readonly Needle[] {
    return this.#needles.get((state & rowMask) / this.#width) ?? noNeedles;
  }

  addRow(): number {
    this.#rows += 1;
    return this.#rows - 1;
  }

  addNeedle(root: number, needle: Needle, meanings: readonly number[]): void {
    const { characters } = needle;
    let row = root;
    for (let i = Math.min(characters.length, depthMax) - 1; i >= 0; i--)
      row = this.#childOf(row, meanings.indexOf(characters[i] as number));
    this.#addNeedles(row, [needle]);
  }

  /**
   * Makes states of the trie below a root, by their depth. A row becomes a copy of the row of its fallback,
   * but for its children and for characters that do not count.
   */
  *link(root: number, meanings: readonly number[]): Generator<undefined> {
    const columnsOf = Map.groupBy(meanings.keys(), (column) => meanings[column] as number);
    const rows = [root];
    for (const row of rows) {
      const start = row * this.#width;
      const from = (this.#fallback[row] as number) * this.#width;
      if (row === root) this.next.fill(start, start, start + this.#width);
      else this.next.copyWithin(start, from, from + this.#width);
      for (let child = this.#firstChild[row] as number; child > 0; child = this.#nextChild[child] as number) {
        const column = this.#columnIn[child] as number;
        const inherited = this.next[start + column] as number;
        this.#fallback[child] = (inherited & rowMask) / this.#width;
        if (inherited < 0) this.#addNeedles(child, this.needlesAt(inherited));
        this.#setEntries(start, columnsOf.get(meanings[column] as number), this.stateOf(child));
        rows.push(child);
      }
      this.#setEntries(start, columnsOf.get(dropped), this.stateOf(row));
      yield;
    }
  }

  /** Returns the child of a row in a trie, which is added where there is none. */
  #childOf(row: number, column: number): number {
    const at = row * this.#width + column;
    const known = this.next[at] as number;
    if (known > 0) return known;
    const child = this.addRow();
    this.next[at] = child;
    this.#columnIn[child] = column;
    this.#nextChild[child] = this.#firstChild[row] as number;
    this.#firstChild[row] = child;
    return child;
  }

  #addNeedles(row: number, needles: readonly Needle[]): void {
    this.#needles.set(row, [...(this.#needles.get(row) ?? noNeedles), ...needles]);
  }

  #setEntries(start: number, columns: readonly number[] | undefined, state: number): void {
    for (const column of columns ?? []) this.next[start + column] = state;
  }
}

const rowsMaxOf = (views: readonly ScrubView[]): number => {
  let rows = 0;
  for (const { needles } of views)
    rows += needles.reduce((sum, it) => sum + Math.min(it.length, depthMax), 1);
  return rows;
};

/**
 * Returns the column of each byte, and one byte of each column. Bytes that mean the same in all views share a
 * column.
 */
function toColumns(views: readonly ScrubView[]): { columns: Uint8Array; samples: number[] } {
  const alphabets = views.map(alphabetOf);
  const kinds = new Map<string, number>();
  const samples: number[] = [];
  const columns = Uint8Array.from({ length: 256 }, (_, byte) => {
    const kind = views
      .map(({ meanings }) => meanings[byte] as number)
      .map((code, i) => (code === dropped || alphabets[i]?.has(code) ? code : 'other'))
      .join();
    if (!kinds.has(kind)) kinds.set(kind, samples.push(byte) - 1);
    return kinds.get(kind) as number;
  });
  return { columns, samples };
}

function alphabetOf({ needles }: ScrubView): ReadonlySet<number> {
  const alphabet = new Set<number>();
  for (const needle of needles) for (const code of needle.subarray(0, depthMax)) alphabet.add(code);
  return alphabet;
}
