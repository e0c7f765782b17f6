import { kept } from '../../util/kept.ts';
import { fits, parsePart, type TemplatePart } from './template.ts';

/** The place of a tool's surface: a host, or a path below one. */
export interface HostPattern {
  readonly text: string;
  /** Labels from the right: `com`, `slack`, … */
  readonly labels: readonly TemplatePart[];
  /** Literal segments that the path begins with. */
  readonly under: readonly string[];
}

/** The match of a host, with the values of its placeholders. */
export interface HostMatch<T> {
  readonly values: readonly T[];
  readonly captures: ReadonlyMap<string, string>;
}

/**
 * The shape of a label that `{region}` stands for. Without this shape `{service}.{region}.amazonaws.com`
 * would also name the machines of strangers, such as `ec2-192-0-2-1.compute-1.amazonaws.com`.
 */
const region = /^[a-z]{2,4}(?:-[a-z]{2,16}){1,3}-\d{1,2}$/;
const noCaptures: ReadonlyMap<string, string> = new Map();

/** Parses `api.x.com`, `*.x.com` (any depth), `{service}.{region}.x.com`, `{bucket+}.s3.x.com` and paths. */
export function parseHostPattern(text: string): HostPattern | undefined {
  const slash = text.indexOf('/');
  const host = slash < 0 ? text : text.slice(0, slash);
  const under = slash < 0 ? [] : text.slice(slash + 1).split('/');
  const labels: TemplatePart[] = [];
  for (const label of host.split('.').reverse()) {
    const part = label === '*' ? ({ kind: 'rest', name: '' } as const) : parsePart(label);
    const isLast = labels.length === host.split('.').length - 1;
    if (!part || (part.kind === 'rest' && !isLast)) return undefined;
    if (part.kind === 'literal' && !/^[a-z0-9_-]+$/.test(part.text)) return undefined;
    labels.push(part);
  }
  // The two last labels must be literals. With a placeholder among them (`{x}.com`), nearly all hosts would
  // belong to a known tool.
  const isAnchored = labels.slice(0, 2).every((part) => part.kind === 'literal');
  return labels.length >= 2 && isAnchored && under.every((name) => /^[\w.~-]+$/.test(name))
    ? { text, labels, under }
    : undefined;
}

class Label<T> {
  readonly literals = new Map<string, Label<T>>();
  readonly placeholders: { readonly part: TemplatePart & { kind: 'one' }; readonly to: Label<T> }[] = [];
  rest: { readonly name: string; readonly values: T[] } | undefined;
  readonly values: T[] = [];
}

/**
 * Finds the most specific of many host patterns. An exact host goes first. Then, label by label from the
 * right, a literal goes before a placeholder, and that before "anything below". An unknown host costs one
 * look-up and one or two steps.
 */
export class HostTree<T> {
  readonly #exact = new Map<string, T[]>();
  readonly #root = new Label<T>();

  add(pattern: HostPattern, value: T): void {
    if (pattern.labels.every((part) => part.kind === 'literal')) {
      const host = pattern.text.split('/')[0] ?? '';
      kept(this.#exact, host, () => []).push(value);
      return;
    }
    let node = this.#root;
    for (const part of pattern.labels) {
      if (part.kind === 'rest') {
        node.rest ??= { name: part.name, values: [] };
        node.rest.values.push(value);
        return;
      }
      node = childOf(node, part);
    }
    node.values.push(value);
  }

  find(host: string): HostMatch<T> | undefined {
    const values = this.#exact.get(host);
    return values ? { values, captures: noCaptures } : walk(this.#root, host, host.length);
  }
}

function childOf<T>(node: Label<T>, part: Exclude<TemplatePart, { kind: 'rest' }>): Label<T> {
  if (part.kind === 'literal') return kept(node.literals, part.text, () => new Label<T>());
  const { name, prefix, suffix } = part;
  for (const { part: other, to } of node.placeholders) {
    if (other.name === name && other.prefix === prefix && other.suffix === suffix) return to;
  }
  const to = new Label<T>();
  node.placeholders.push({ part, to });
  // `{service}-fips` is more specific than `{service}`.
  node.placeholders.sort((a, b) => affixLength(b.part) - affixLength(a.part));
  return to;
}

const affixLength = (part: { prefix: string; suffix: string }): number =>
  part.prefix.length + part.suffix.length;

/**
 * Matches the labels before `end` with the patterns below a node. The recursion goes no deeper than the
 * longest pattern has labels.
 */
function walk<T>(node: Label<T>, host: string, end: number): HostMatch<T> | undefined {
  if (end <= 0) return node.values.length > 0 ? { values: node.values, captures: noCaptures } : undefined;
  const start = host.lastIndexOf('.', end - 1) + 1;
  const label = host.slice(start, end);
  const literal = node.literals.get(label);
  const found = literal && walk(literal, host, start - 1);
  if (found) return found;
  for (const { part, to } of node.placeholders) {
    if (!fits(label, part)) continue;
    const value = label.slice(part.prefix.length, label.length - part.suffix.length);
    if (part.name === 'region' && !region.test(value)) continue;
    const below = walk(to, host, start - 1);
    if (below) return { values: below.values, captures: new Map(below.captures).set(part.name, value) };
  }
  if (!node.rest) return undefined;
  return { values: node.rest.values, captures: new Map([[node.rest.name, host.slice(0, end)]]) };
}
