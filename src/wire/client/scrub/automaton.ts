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

export type Automaton = ReturnType<typeof createAutomaton>;

/** Characters of a needle that make states. The characters behind them are compared one by one. */
const depthMax = 256;

/** Keeps a state while the automaton is built. */
class Node {
  readonly children = new Map<number, Node>();
  /** State of the longest shorter suffix with which needles may go on. */
  fallback: Node | undefined;
  needles: Needle[] = [];
  state = 0;
}

export function createAutomaton(views: readonly ScrubView[]) {
  const tries = views.map(toTrie);
  const { columns, samples } = toColumns(views);
  // States in which needles are found are the last ones, so that one comparison tells them.
  const finds = (node: Node): boolean => node.needles.length > 0;
  const all = tries.flat();
  const nodes = [...all.filter((it) => !finds(it)), ...all.filter(finds)];
  nodes.forEach((node, i) => {
    node.state = i * samples.length;
  });
  const next = new Int32Array(nodes.length * samples.length);
  for (const [i, { meanings }] of views.entries())
    fillRows(
      next,
      tries[i] as Node[],
      samples.map((byte) => meanings[byte] as number),
    );
  const firstFound = nodes.findIndex(finds);
  return {
    /** Column of each byte. Bytes that no view tells apart share one. */
    columns,
    /** Next states: the one behind a state and a column is `next[state + column]`. */
    next,
    /** The first state of each view. */
    roots: tries.map(([root]) => (root as Node).state),
    /** First of the states which say that needles begin. All behind it say so, too. */
    firstFound: firstFound < 0 ? next.length : firstFound * samples.length,
    /** Returns the needles whose first `depthMax` characters stand here. */
    needlesAt: (state: number): readonly Needle[] => (nodes[state / samples.length] as Node).needles,
  };
}

/** Returns the states of a view: the root first, and then the others by their depth. */
function toTrie(view: ScrubView): Node[] {
  const root = new Node();
  for (const characters of view.needles) {
    let node = root;
    for (const code of characters.subarray(0, depthMax).toReversed()) node = childOf(node, code);
    node.needles.push({ view, characters });
  }
  const nodes = [root];
  for (const node of nodes) {
    for (const [code, child] of node.children) {
      child.fallback = node === root ? root : stepFrom(node.fallback as Node, code, root);
      if (child.fallback.needles.length > 0) child.needles = [...child.needles, ...child.fallback.needles];
      nodes.push(child);
    }
  }
  return nodes;
}

function childOf(node: Node, code: number): Node {
  const child = node.children.get(code) ?? new Node();
  node.children.set(code, child);
  return child;
}

function stepFrom(start: Node, code: number, root: Node): Node {
  let node: Node | undefined = start;
  while (node && !node.children.has(code)) node = node.fallback;
  return node?.children.get(code) ?? root;
}

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
  for (const needle of needles) for (const code of needle) alphabet.add(code);
  return alphabet;
}

/**
 * Fills the rows of a view's states; `meanings` are those of the columns. A row is that of the state's
 * fallback, which was filled before, but for the state's children and for characters that do not count.
 */
function fillRows(next: Int32Array, nodes: readonly Node[], meanings: readonly number[]): void {
  const columnsOf = Map.groupBy(meanings.keys(), (column) => meanings[column] as number);
  const [root] = nodes as [Node];
  for (const { state, fallback, children } of nodes) {
    const from = fallback?.state;
    if (from === undefined) next.fill(root.state, state, state + meanings.length);
    else next.copyWithin(state, from, from + meanings.length);
    for (const [code, child] of children)
      for (const column of columnsOf.get(code) ?? []) next[state + column] = child.state;
    for (const column of columnsOf.get(dropped) ?? []) next[state + column] = state;
  }
}
