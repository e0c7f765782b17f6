import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  visit,
  type YAMLMap,
} from 'yaml';
import { kept } from '../util/kept.ts';
import { type ComposedYaml, composeYaml } from '../util/yaml.ts';
import { dotted, type Mistake, type Path } from './checks/mistakes.ts';

/** The values of a text, with their places. */
export interface Source {
  readonly value: unknown;
  readonly mistakes: readonly Mistake[];
  /** The line of the key or item, or of the nearest thing around it. */
  lineOf(path: Path): number | undefined;
  /** Tells whether a text stands in the file itself, and was not put in from outside. */
  isLiteral(path: Path): boolean;
}

const depthMax = 32;
const nodesMax = 500_000;

type Resolve = (text: string, complain: (message: string) => void) => string;

/**
 * Reads one YAML 1.2 document (core schema). `resolve` puts variables and files into its texts. A key whose value is null says
 * nothing, so it becomes undefined. Nesting and the number of values are bounded, aliases included.
 */
export function readConfigYaml(text: string, resolve: Resolve): Source {
  const { documents, mistakes, placeOf } = composeYaml(text, { documentsMax: 1, aliasesMax: nodesMax });
  const tree = documents[0]?.tree;
  // Most texts have no anchor, and so no alias.
  const targets = tree && text.includes('&') ? targetsIn(tree) : new Map<Alias, Node>();
  const reader = new Reader({ root: tree?.contents ?? null, targets, placeOf, resolve });
  for (const { line, message } of mistakes) reader.mistakes.push({ path: '', line, message });
  const isReadable = mistakes.every((it) => !it.isFatal);
  const value = isReadable ? reader.readAll() : undefined;
  return {
    value,
    mistakes: reader.mistakes,
    lineOf: (path) => reader.lineOf(path),
    isLiteral: (path) => reader.isLiteral(path),
  };
}

/**
 * The node that each alias stands for: the last one before it with its anchor. The parser would search the whole text
 * for each.
 */
function targetsIn(tree: Document.Parsed): ReadonlyMap<Alias, Node> {
  const targets = new Map<Alias, Node>();
  const anchored = new Map<string, Node>();
  visit(tree, (_, node) => {
    if (isAlias(node)) {
      const target = anchored.get(node.source);
      if (target) targets.set(node, target);
    } else if (isNode(node) && node.anchor !== undefined) anchored.set(node.anchor, node);
  });
  return targets;
}

interface Reading {
  readonly root: Node | null;
  readonly targets: ReadonlyMap<Alias, Node>;
  readonly placeOf: ComposedYaml['placeOf'];
  readonly resolve: Resolve;
}

class Reader {
  readonly mistakes: Mistake[] = [];
  /** Paths of texts into which something was put. */
  readonly #resolved = new Set<string>();
  /** The pairs of mappings that were looked into, by key: few are ever asked for. */
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  readonly #root: Node | null;
  readonly #targets: ReadonlyMap<Alias, Node>;
  readonly #placeOf: ComposedYaml['placeOf'];
  readonly #resolve: Resolve;
  #nodes = 0;

  constructor({ root, targets, placeOf, resolve }: Reading) {
    this.#root = root;
    this.#targets = targets;
    this.#placeOf = placeOf;
    this.#resolve = resolve;
  }

  readAll(): unknown {
    return this.#root ? this.read(this.#root, [], 0) : undefined;
  }

  read(node: Node | null, path: Path, depth: number): unknown {
    if (++this.#nodes > nodesMax || depth > depthMax) {
      // Said once: everything around it would say the same.
      if (this.#nodes < Number.MAX_SAFE_INTEGER)
        this.#complain(path, 'there are too many values, or they are nested too deep');
      this.#nodes = Number.MAX_SAFE_INTEGER;
      return undefined;
    }
    if (isAlias(node)) {
      const target = this.#targets.get(node);
      return target ? this.read(target, path, depth + 1) : undefined;
    }
    if (isMap(node)) return this.#mapping(node.items, path, depth);
    if (isSeq(node))
      return node.items.map((item, index) => this.read(item as Node | null, [...path, index], depth + 1));
    if (!isScalar(node)) return undefined;
    return typeof node.value === 'string' ? this.#text(node.value, path) : node.value;
  }

  lineOf(path: Path): number | undefined {
    return this.#find(path).line;
  }

  isLiteral(path: Path): boolean {
    return this.#find(path).isWhole && !this.#resolved.has(dotted(path));
  }

  /** The line of what stands at the path, or of the nearest thing around it; and whether it stands there itself. */
  #find(path: Path): { readonly line: number | undefined; readonly isWhole: boolean } {
    let at = this.#root;
    let line: number | undefined;
    for (const [index, step] of path.entries()) {
      const inside = isAlias(at) ? this.#targets.get(at) : at;
      const pair = isMap(inside) ? this.#pairsOf(inside).get(String(step)) : undefined;
      const item = isSeq(inside) ? inside.items[Number(step)] : undefined;
      const named = (pair?.key ?? item) as Node | null | undefined;
      if (!named) return { line, isWhole: false };
      if (named.range) line = this.#placeOf(named.range[0]).line;
      else if (index === path.length - 1) return { line, isWhole: false };
      at = (pair ? pair.value : item) as Node | null;
    }
    return { line, isWhole: path.length > 0 };
  }

  #pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    const scalars = () => map.items.filter(({ key }) => isScalar(key));
    return kept(this.#pairs, map, () => new Map(scalars().map((it) => [keyOf(it), it])));
  }

  #mapping(
    items: readonly { key: unknown; value: unknown }[],
    path: Path,
    depth: number,
  ): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    for (const { key, value } of items) {
      if (!isScalar(key)) continue;
      const name = String(key.value);
      const inner = [...path, name];
      // The one key with which an ordinary object could be changed instead of filled.
      if (name === '__proto__') this.#complain(inner, 'unknown key');
      else entries[name] = this.read(value as Node | null, inner, depth + 1) ?? undefined;
    }
    return entries;
  }

  /** A text to which its references add nothing says nothing, so that `${env:PARENT_PROXY:-}` may stand for none. */
  #text(text: string, path: Path): string | undefined {
    const value = this.#resolve(text, (message) => this.#complain(path, message));
    if (value === text) return text;
    this.#resolved.add(dotted(path));
    return value === '' ? undefined : value;
  }

  #complain(path: Path, message: string): void {
    this.mistakes.push({ path: dotted(path), line: this.lineOf(path), message });
  }
}

const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);
