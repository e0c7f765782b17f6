import { type ComposedYaml, composeYaml, type Place } from '../util/yaml.ts';
import type { YamlMapping, YamlNode } from '../util/yaml-tree.ts';
import { dotted, type Mistake, type Path } from './checks/mistakes.ts';

/** The values of a text, with their places. */
export type ConfigYaml = ReturnType<typeof readConfigYaml>;

const depthMax = 32;
const nodesMax = 500_000;

type Resolve = (text: string, complain: (message: string) => void) => string;

/**
 * Reads one YAML 1.2 document (core schema). `resolve` puts variables and files into its texts. A key whose
 * value is null says nothing, so it becomes undefined. Nesting and the number of values are bounded, aliases
 * included.
 */
export function readConfigYaml(text: string, resolve: Resolve) {
  const { documents, mistakes, placeOf } = composeYaml(text, { documentsMax: 1, aliasesMax: nodesMax });
  const reader = new Reader(documents[0]?.tree.root, placeOf, resolve);
  for (const { line, column, message } of mistakes) reader.mistakes.push({ path: '', line, column, message });
  const isReadable = mistakes.every((it) => !it.isFatal);
  const value = isReadable ? reader.readAll() : undefined;
  return {
    value,
    mistakes: reader.mistakes,
    /** Returns the place of the key or item at a path, or of the nearest one around it. */
    placeOf: (path: Path) => reader.placeOf(path),
    /** Tells whether a text stands in the file itself, and nothing was put into it from outside. */
    isLiteral: (path: Path) => reader.isLiteral(path),
    /**
     * Returns the variable or the file that the text at a path comes from; undefined where it is of the file
     * itself.
     */
    outsideOf: (path: Path) => reader.outsideOf(path),
  };
}

/** Returns the name in the first reference of a text; '' where it has none. */
const outsideIn = (text: string): string => /\$\{(?:env|file):([^}:]+)/.exec(text)?.[1] ?? '';

class Reader {
  readonly mistakes: Mistake[] = [];
  /** The paths of texts into which something was put, and the variable or file that it came from. */
  readonly #resolved = new Map<string, string>();
  readonly #root: YamlNode | undefined;
  readonly #placeOf: ComposedYaml['placeOf'];
  readonly #resolve: Resolve;
  #nodes = 0;

  constructor(root: YamlNode | undefined, placeOf: ComposedYaml['placeOf'], resolve: Resolve) {
    this.#root = root;
    this.#placeOf = placeOf;
    this.#resolve = resolve;
  }

  readAll(): unknown {
    return this.#root ? this.read(this.#root, [], 0) : undefined;
  }

  read(node: YamlNode, path: Path, depth: number): unknown {
    if (++this.#nodes > nodesMax || depth > depthMax) {
      // The mistake is reported once, because all values around this one would report it again.
      if (this.#nodes < Number.MAX_SAFE_INTEGER)
        this.#complain(path, 'there are too many values, or they are nested too deep');
      this.#nodes = Number.MAX_SAFE_INTEGER;
      return undefined;
    }
    switch (node.kind) {
      case 'alias':
        return this.read(node.target, path, depth + 1);
      case 'mapping':
        return this.#mapping(node, path, depth);
      case 'list':
        return node.items.map((item, index) => this.read(item, [...path, index], depth + 1));
      case 'scalar':
        return typeof node.value === 'string' ? this.#text(node.value, path) : node.value;
    }
  }

  placeOf(path: Path): Partial<Place> {
    return this.#find(path).place;
  }

  isLiteral(path: Path): boolean {
    return this.#find(path).isWhole && !this.#resolved.has(dotted(path));
  }

  outsideOf(path: Path): string | undefined {
    return this.#resolved.get(dotted(path)) || undefined;
  }

  /**
   * Returns the place of a path, or of the nearest value around it, and whether the path itself was found.
   */
  #find(path: Path): { readonly place: Partial<Place>; readonly isWhole: boolean } {
    let node = this.#root;
    let place: Partial<Place> = {};
    for (const step of path) {
      const inside: YamlNode | undefined = node?.kind === 'alias' ? node.target : node;
      const entry = inside?.kind === 'mapping' ? inside.entries.get(String(step)) : undefined;
      const item = inside?.kind === 'list' ? inside.items[Number(step)] : undefined;
      const named = entry ?? item;
      if (!named) return { place, isWhole: false };
      place = this.#placeOf(named.at);
      node = entry?.value ?? item;
    }
    return { place, isWhole: path.length > 0 };
  }

  #mapping({ entries }: YamlMapping, path: Path, depth: number): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const [name, { value }] of entries) {
      const inner = [...path, name];
      // `__proto__` is the one key by which an ordinary object is changed instead of filled.
      if (name === '__proto__') this.#complain(inner, 'unknown key');
      else values[name] = this.read(value, inner, depth + 1) ?? undefined;
    }
    return values;
  }

  /**
   * Returns a text with its references resolved. A text to which they add nothing counts as absent, such as
   * `${env:PARENT_PROXY:-}`.
   */
  #text(text: string, path: Path): string | undefined {
    const value = this.#resolve(text, (message) => this.#complain(path, message));
    if (value === text) return text;
    this.#resolved.set(dotted(path), outsideIn(text));
    return value === '' ? undefined : value;
  }

  #complain(path: Path, message: string): void {
    const { line, column } = this.placeOf(path);
    this.mistakes.push({ path: dotted(path), line, column, message });
  }
}
