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
  const width = samples.length;
  const next = new Int32Array(width * rowsMaxOf(views));
  const needles = new Map<number, readonly Needle[]>();
  const needlesAt = (state: number): readonly Needle[] => needles.get(state & rowMask) ?? noNeedles;
  const stateOf = (row: number): number => (needles.has(row) ? row | found : row);
  /** Of each row, the columns in which it has a child. */
  const childColumns: number[][] = [];
  const addRow = (): number => width * (childColumns.push([]) - 1);
  const roots: number[] = [];
  for (const view of views) {
    const meanings = samples.map((byte) => view.meanings[byte] as number);
    const columnsOf = Map.groupBy(meanings.keys(), (column) => meanings[column] as number);
    const root = addRow();
    roots.push(root);
    // A trie first: an entry is the row of a child, and 0 where there is none.
    for (const characters of view.needles) {
      let row = root;
      for (let i = Math.min(characters.length, depthMax) - 1; i >= 0; i--) {
        const column = meanings.indexOf(characters[i] as number);
        const at = row + column;
        if (next[at] === 0) {
          childColumns[row / width]?.push(column);
          next[at] = addRow();
        }
        row = next[at] as number;
      }
      needles.set(row, [...needlesAt(row), { view, characters }]);
      yield;
    }
    // By their depth, rows become copies of the row of the longest shorter suffix with which needles may go
    // on, but for the entries of their children and for characters that do not count.
    const fallbacks = new Map([[root, root]]);
    for (const [row, fallback] of fallbacks) {
      const own = childColumns[row / width] as number[];
      const children = own.map((column) => next[row + column] as number);
      if (row === root) next.fill(root, row, row + width);
      else next.copyWithin(row, fallback, fallback + width);
      for (const [i, child] of children.entries()) {
        const column = own[i] as number;
        const inherited = next[row + column] as number;
        fallbacks.set(child, inherited & rowMask);
        if (inherited < 0) needles.set(child, [...needlesAt(child), ...needlesAt(inherited)]);
        for (const it of columnsOf.get(meanings[column] as number) ?? []) next[row + it] = stateOf(child);
      }
      for (const it of columnsOf.get(dropped) ?? []) next[row + it] = stateOf(row);
      yield;
    }
  }
  return { columns, next, roots, needlesAt };
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
