import { kept } from '../../util/kept.ts';
import { type Capture, capturesOf, PathTree, parsePathTemplate } from '../paths.ts';
import { toRoute } from './groups.ts';
import type { TemplatePart } from './template.ts';

/** A route as `plainRoute` writes it, with what it leads to. */
export interface PathEntry<T> {
  readonly route: string;
  /** Returns what the route leads to below a base path; undefined where it does not stand below that base. */
  readonly of: (base: readonly TemplatePart[]) => T | undefined;
}

/** The value that a route has led to, with the placeholders of the route. */
export type MatchedPath<T> = T & { readonly captures: readonly Capture[] };

/** The routes of a surface below its base paths. A group is read when a path may be one of its routes. */
export interface RouteGroups<T> {
  readonly bases: readonly (readonly TemplatePart[])[];
  readonly byLength: ReadonlyMap<number, () => readonly PathEntry<T>[]>;
  readonly ofAnyLength: () => readonly PathEntry<T>[];
  /** All methods that the routes name. */
  readonly methods: readonly string[];
}

/** Finds what paths lead to. A tree for a method and a number of segments is made when it is first needed. */
export class PathTable<T extends object> {
  readonly #groups: RouteGroups<T>;
  readonly #ignoresCase: boolean;
  readonly #prepare: (found: MatchedPath<T>[]) => void;
  readonly #methods: ReadonlySet<string>;
  /** The largest number of segments with routes of its own. Longer paths only have routes of any length. */
  readonly #lengthMax: number;
  /** Trees by method, then by number of segments. */
  readonly #trees = new Map<string, PathTree<MatchedPath<T>>[]>();

  /**
   * Keeps the routes of a surface. `prepare` puts each list of values that share a method and a template in
   * order.
   */
  constructor(groups: RouteGroups<T>, ignoresCase: boolean, prepare: (found: MatchedPath<T>[]) => void) {
    this.#groups = groups;
    this.#ignoresCase = ignoresCase;
    this.#prepare = prepare;
    this.#methods = new Set([...groups.methods, ...(groups.methods.includes('GET') ? ['HEAD'] : [])]);
    this.#lengthMax =
      Math.max(0, ...groups.bases.map((it) => it.length)) + Math.max(0, ...groups.byLength.keys());
  }

  /** Returns all that stands for the method at the most specific template of the path. */
  find(
    method: string,
    segments: readonly string[],
    inAnyCase = false,
  ): readonly MatchedPath<T>[] | undefined {
    // Callers choose the method: all those that no route names share one entry.
    const known = this.#methods.has(method) ? method : '*';
    const trees = kept(this.#trees, known, () => []);
    const length = Math.min(segments.length, this.#lengthMax + 1);
    const tree = trees[length] ?? this.#treeOf(known, length);
    trees[length] = tree;
    return inAnyCase ? tree.findInAnyCase(method, segments) : tree.find(method, segments);
  }

  /** Compiles all routes, so that `prepare` sees each list. */
  compileAll(): void {
    this.#treeOf(undefined, undefined);
  }

  /** Makes the tree of a method and a length. A method or length that is left out stands for all. */
  #treeOf(method: string | undefined, length: number | undefined): PathTree<MatchedPath<T>> {
    const tree = new PathTree<MatchedPath<T>>(this.#ignoresCase);
    for (const base of this.#groups.bases) {
      for (const { route, of } of this.#below(base, length)) {
        const { methods, path } = toRoute(route);
        if (method !== undefined && !allows(methods, method)) continue;
        const value = of(base);
        const parts = [...base, ...(parsePathTemplate(path) ?? [])];
        if (value) tree.add({ methods, parts }, { ...value, captures: capturesOf(parts) });
      }
    }
    for (const found of tree.leaves()) this.#prepare(found);
    return tree;
  }

  *#below(base: readonly TemplatePart[], length: number | undefined): Generator<PathEntry<T>> {
    const { byLength, ofAnyLength } = this.#groups;
    const isFixed = length !== undefined && base.every(({ kind }) => kind !== 'rest');
    if (isFixed) yield* byLength.get(length - base.length)?.() ?? [];
    else for (const routes of byLength.values()) yield* routes();
    yield* ofAnyLength();
  }
}

const allows = (methods: readonly string[], method: string): boolean =>
  methods.includes(method) || methods.includes('*') || (method === 'HEAD' && methods.includes('GET'));
