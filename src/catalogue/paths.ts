import { kept } from '../util/kept.ts';
import { fits, parsePart, type TemplatePart } from './load/template.ts';

/** Methods and path template of an operation: `GET|POST /repos/{org}/{repo}`. */
interface PathRoute {
  /** Methods in upper case; `*` stands for any. */
  readonly methods: readonly string[];
  readonly parts: readonly TemplatePart[];
}

const routeText = /^([A-Z]+(?:\|[A-Z]+)*|\*) (\/\S*)$/;

/** Parses `METHOD[|METHOD] /path`; undefined where it is malformed or has more than one `{rest+}`. */
export function parseRoute(text: string): PathRoute | undefined {
  const [, methods, path] = routeText.exec(text) ?? [];
  const parts = path === undefined ? undefined : parsePathTemplate(path);
  return methods && parts ? { methods: methods.split('|'), parts } : undefined;
}

/** Returns the route in its one spelling, without empty segments; undefined if `parseRoute` refuses it. */
export function plainRoute(text: string): string | undefined {
  const { methods, parts } = parseRoute(text) ?? {};
  return methods && parts && `${methods.join('|')} ${parts.map(partText).join('') || '/'}`;
}

/**
 * Parses a path template; `/` and '' have no parts. Returns undefined where it is malformed or has more than
 * one `{rest+}`.
 */
export function parsePathTemplate(text: string): readonly TemplatePart[] | undefined {
  const parts: TemplatePart[] = [];
  for (const segment of text.split('/')) {
    const part = segment === '' ? null : parsePart(segment);
    if (part === undefined) return undefined;
    if (part) parts.push(part);
  }
  return parts.filter(({ kind }) => kind === 'rest').length > 1 ? undefined : parts;
}

const segmentsMax = 1024;

/**
 * Returns the segments of a path, without its query. Empty segments are left out, as the vendors do. Each is
 * percent-decoded once; one that would then hold a slash stays encoded, so `%2f` never makes two segments of
 * one. Returns undefined for more than 1024 segments: no vendor has such a path.
 */
export function splitPath(path: string): readonly string[] | undefined {
  const question = path.indexOf('?');
  const end = question < 0 ? path.length : question;
  const segments: string[] = [];
  for (let start = 0; start < end; ) {
    let stop = path.indexOf('/', start);
    if (stop < 0 || stop > end) stop = end;
    if (stop > start) {
      if (segments.length === segmentsMax) return undefined;
      segments.push(decodeSegment(path.slice(start, stop)));
    }
    start = stop + 1;
  }
  return segments;
}

const odataKey = /^([\w.]{1,128})\((?:\w{1,64}=)?'?([^']{0,512})'?\)$/;

/** Splits segments of OData: `users('ann')` gives `users` and `ann` (OData 4.01 URLs, 4.3 to 4.5). */
export const withoutOdata = (segments: readonly string[]): readonly string[] =>
  segments.flatMap((segment) => {
    const [, name = segment, key] = odataKey.exec(segment) ?? [];
    const own = name.replace(/^microsoft\.graph\./i, '');
    return key === undefined || key === '' ? own : [own, key];
  });

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    const decoded = decodeURIComponent(segment);
    return decoded.includes('/') ? segment : decoded;
  } catch {
    // The segment is not UTF-8: no literal of a template is like it, and as a name it is best left as it was
    // sent.
    return segment;
  }
}

/**
 * Holds what may follow the beginning of a path. Each map is made when it is needed: most nodes have one kind
 * of child, or one list alone.
 */
class Node<T> {
  literals: Map<string, Node<T>> | undefined;
  placeholders: { readonly prefix: string; readonly suffix: string; readonly to: Node<T> }[] | undefined;
  rest: Node<T> | undefined;
  byMethod: Map<string, T[]> | undefined;
}

/**
 * Finds the most specific template of a path. A literal goes before a placeholder, a placeholder before
 * `{rest+}`. A branch that lacks the method is left for the next one. Each node has one depth and a path one
 * `{rest+}`, so a search takes at most nodes × segments steps.
 */
export class PathTree<T> {
  readonly #root = new Node<T>();
  readonly #ignoresCase: boolean;

  constructor(ignoresCase = false) {
    this.#ignoresCase = ignoresCase;
  }

  add({ methods, parts }: PathRoute, value: T): void {
    let node = this.#root;
    for (const part of parts) node = childOf(node, this.#ignoresCase ? folded(part) : part);
    node.byMethod ??= new Map();
    for (const method of methods) kept(node.byMethod, method, () => []).push(value);
  }

  /** Returns all that was added for the method at the most specific template of the path. */
  find(method: string, segments: readonly string[]): readonly T[] | undefined {
    const compared = this.#ignoresCase ? segments.map((it) => it.toLowerCase()) : segments;
    return walk(this.#root, method, compared, 0, exactly);
  }

  /** Returns the same with literals in any case, in time linear in all literals of the tree. */
  findInAnyCase(method: string, segments: readonly string[]): readonly T[] | undefined {
    return walk(this.#root, method, segments, 0, inAnyCase);
  }

  /** Yields every list of values that share a method and a template. */
  *leaves(node: Node<T> = this.#root): Generator<T[]> {
    if (node.byMethod) yield* node.byMethod.values();
    for (const child of node.literals?.values() ?? []) yield* this.leaves(child);
    for (const { to } of node.placeholders ?? []) yield* this.leaves(to);
    if (node.rest) yield* this.leaves(node.rest);
  }
}

/** Folds the literal texts of a part to lower case, but not the names of placeholders. */
function folded(part: TemplatePart): TemplatePart {
  if (part.kind === 'rest') return part;
  if (part.kind === 'literal') return { ...part, text: part.text.toLowerCase() };
  return { ...part, prefix: part.prefix.toLowerCase(), suffix: part.suffix.toLowerCase() };
}

function childOf<T>(node: Node<T>, part: TemplatePart): Node<T> {
  if (part.kind === 'rest') {
    node.rest ??= new Node<T>();
    return node.rest;
  }
  if (part.kind === 'literal') {
    node.literals ??= new Map();
    return kept(node.literals, part.text, () => new Node<T>());
  }
  const { prefix, suffix } = part;
  node.placeholders ??= [];
  const known = node.placeholders.find((other) => other.prefix === prefix && other.suffix === suffix);
  if (known) return known.to;
  const to = new Node<T>();
  node.placeholders.push({ prefix, suffix, to });
  node.placeholders.sort((a, b) => b.prefix.length + b.suffix.length - a.prefix.length - a.suffix.length);
  return to;
}

/** Yields the children of a node that a segment leads to by its literal. */
type Literals = <T>(node: Node<T>, segment: string) => readonly Node<T>[];

const noNodes: readonly never[] = [];

const exactly: Literals = ({ literals }, segment) => {
  const found = literals?.get(segment);
  return found ? [found] : noNodes;
};

const inAnyCase: Literals = ({ literals }, segment) => {
  const lower = segment.toLowerCase();
  return [...(literals ?? [])].flatMap(([text, to]) => (text.toLowerCase() === lower ? to : []));
};

function walk<T>(
  node: Node<T>,
  method: string,
  segments: readonly string[],
  at: number,
  literalsOf: Literals,
): readonly T[] | undefined {
  const segment = segments[at];
  if (segment === undefined) {
    const { byMethod } = node;
    const asGet = method === 'HEAD' ? byMethod?.get('GET') : undefined;
    return byMethod?.get(method) ?? asGet ?? byMethod?.get('*');
  }
  for (const literal of literalsOf(node, segment)) {
    const found = walk(literal, method, segments, at + 1, literalsOf);
    if (found) return found;
  }
  for (const placeholder of node.placeholders ?? []) {
    if (!fits(segment, placeholder)) continue;
    const below = walk(placeholder.to, method, segments, at + 1, literalsOf);
    if (below) return below;
  }
  if (!node.rest) return undefined;
  // The fewest segments are tried first: a template that goes on behind `{rest+}` is more specific than one
  // that ends there.
  for (let next = at + 1; next <= segments.length; next++) {
    const below = walk(node.rest, method, segments, next, literalsOf);
    if (below) return below;
  }
  return undefined;
}

/** The place of a placeholder in the segments. */
export interface Capture {
  readonly name: string;
  readonly part: TemplatePart;
  readonly index: number;
  /** The number of template parts that follow. */
  readonly after: number;
  readonly isBehindRest: boolean;
}

/** Returns the placeholders of a template. */
export function capturesOf(parts: readonly TemplatePart[]): readonly Capture[] {
  const rest = parts.findIndex(({ kind }) => kind === 'rest');
  return parts.flatMap((part, index) => {
    if (part.kind === 'literal') return [];
    const isBehindRest = rest >= 0 && index > rest;
    return [{ name: part.name, part, index, after: parts.length - index - 1, isBehindRest }];
  });
}

/** Returns the value of a placeholder in a path that its template matched. */
export function captured({ part, index, after, isBehindRest }: Capture, segments: readonly string[]): string {
  if (part.kind === 'rest') return segments.slice(index, segments.length - after).join('/');
  const segment = segments[isBehindRest ? segments.length - after - 1 : index] ?? '';
  return part.kind === 'one'
    ? segment.slice(part.prefix.length, segment.length - part.suffix.length)
    : segment;
}

const wordLengthMax = 32;
/** Matches what is no word: a number, a UUID, 8 or more hex digits, letters with digits, odd characters. */
const idLike = /^(?:\d+|[0-9a-fA-F-]{8,}|.*[^\w.~-].*|(?=\D*\d).{8,})$/s;

const templateLengthMax = 128;

/**
 * Returns a path with `{id}` for its ids, at most 128 characters. It names operations that the catalogue
 * lacks. The first segments are those of the template `known`.
 */
export function templateOf(segments: readonly string[], known: readonly TemplatePart[] = []): string {
  let template = known.map((part) => (part.kind === 'rest' ? `/{${part.name}}` : partText(part))).join('');
  for (const segment of segments.slice(known.length)) {
    template += `/${segment.length > wordLengthMax || idLike.test(segment) ? '{id}' : segment}`;
    if (template.length > templateLengthMax) return template.slice(0, templateLengthMax);
  }
  return template || '/';
}

/** Returns a part of a template as it is written, with the slash before it. */
function partText(part: TemplatePart): string {
  if (part.kind === 'literal') return `/${part.text}`;
  return part.kind === 'one' ? `/${part.prefix}{${part.name}}${part.suffix}` : `/{${part.name}+}`;
}
