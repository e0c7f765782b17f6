import {
  boolCoreTag,
  EVENT_ID,
  type Event,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  NOT_RESOLVED,
  nullCoreTag,
  SCALAR_STYLE,
} from 'js-yaml';
import { kept } from './kept.ts';

/*
 * Makes values of YAML with their places from the parser's events. A place is an offset from the text's
 * start.
 */

export type YamlNode = YamlScalar | YamlList | YamlMapping | YamlAlias;

interface YamlScalar {
  readonly kind: 'scalar';
  readonly at: number;
  readonly value: string | number | boolean | null;
}

interface YamlList {
  readonly kind: 'list';
  readonly at: number;
  readonly items: readonly YamlNode[];
}

export interface YamlMapping {
  readonly kind: 'mapping';
  readonly at: number;
  /** The entries by key. Where a key stands twice, the last entry counts. */
  readonly entries: ReadonlyMap<string, YamlEntry>;
}

interface YamlEntry {
  /** The place of the key. */
  readonly at: number;
  readonly value: YamlNode;
}

interface YamlAlias {
  readonly kind: 'alias';
  readonly at: number;
  readonly target: YamlNode;
}

export interface YamlTree {
  /** The outermost node; undefined for a document without content. */
  readonly root: YamlNode | undefined;
  /** The place of the document's content, or of its beginning where it has none. */
  readonly at: number;
  /** The number of aliases. Those within what an alias stands for count at each use. */
  readonly aliasUses: number;
}

export type TreeFault = 'ALIAS' | 'DUPLICATE_KEY' | 'LOST_ALIAS' | 'NON_STRING_KEY' | 'TAG';

type ScalarEvent = Extract<Event, { type: typeof EVENT_ID.SCALAR }>;
type Tagged = Extract<Event, { tagStart: number }>;

/** The tags of the core schema (YAML 1.2, 10.3) that a plain scalar may have instead of text. */
const plainTags = {
  '!!null': nullCoreTag,
  '!!bool': boolCoreTag,
  '!!int': intCoreTag,
  '!!float': floatCoreTag,
};
const mayBeOther = /^(?:$|[-+.\d~nNtTfF])/;
const textTags: ReadonlySet<string> = new Set(['!', '!!str']);

export class TreeReader {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #aliasesMax: number;
  readonly #note: (fault: TreeFault, at: number) => void;
  #next = 0;
  /** The last known place. A node without text has no place of its own and gets this one. */
  #last = 0;
  #markerEnd = 0;
  #hasTagHandles = false;
  #aliases = 0;
  #aliasUses = 0;
  /**
   * The node that each anchor stands for, with the number of aliases in it. An anchor has undefined until its
   * node has ended.
   */
  #anchors = new Map<string, { readonly node: YamlNode; readonly aliasUses: number } | undefined>();

  constructor(
    text: string,
    events: readonly Event[],
    { aliasesMax }: { readonly aliasesMax: number },
    note: (fault: TreeFault, at: number) => void,
  ) {
    this.#text = text;
    this.#events = events;
    this.#aliasesMax = aliasesMax;
    this.#note = note;
  }

  /** Returns the next document; undefined where there is none. */
  read(): YamlTree | undefined {
    const event = this.#events[this.#next++];
    if (event?.type !== EVENT_ID.DOCUMENT) return undefined;
    this.#hasTagHandles = event.directives.some((it) => it.kind === 'tag');
    if (event.explicitStart) this.#passMarker();
    this.#anchors = new Map();
    this.#aliases = 0;
    this.#aliasUses = 0;
    const isEmpty = this.#events[this.#next]?.type === EVENT_ID.POP;
    const root = isEmpty ? undefined : this.#node();
    this.#next += 1;
    return { root, at: root?.at ?? this.#last, aliasUses: this.#aliasUses };
  }

  /** Moves the last known place to the next line that begins a document. */
  #passMarker(): void {
    const marker = /^---(?=\s|$)/gm;
    marker.lastIndex = Math.max(this.#last, this.#markerEnd);
    this.#last = marker.exec(this.#text)?.index ?? this.#last;
    this.#markerEnd = this.#last + 3;
  }

  #node(): YamlNode {
    const event = this.#events[this.#next++] as Event;
    if (event.type === EVENT_ID.ALIAS) return this.#alias(event.anchorStart, event.anchorEnd);
    if (!('tagStart' in event)) throw new Error('The parser told of no node where there is one.');
    const name = event.anchorStart < 0 ? '' : this.#text.slice(event.anchorStart, event.anchorEnd);
    if (name !== '') this.#anchors.set(name, undefined);
    const usesBefore = this.#aliasUses;
    const node = this.#untold(event);
    if (name !== '') this.#anchors.set(name, { node, aliasUses: this.#aliasUses - usesBefore });
    return node;
  }

  #untold(event: Tagged): YamlNode {
    if (event.type === EVENT_ID.SCALAR) {
      const at = this.#placeOf(event);
      return { kind: 'scalar', at, value: this.#value(event) };
    }
    const isList = event.type === EVENT_ID.SEQUENCE;
    const tag = this.#tagOf(event);
    if (tag !== '' && tag !== '!' && tag !== (isList ? '!!seq' : '!!map')) this.#note('TAG', event.tagStart);
    this.#last = event.start;
    const node: YamlNode = isList
      ? { kind: 'list', at: event.start, items: this.#items() }
      : { kind: 'mapping', at: event.start, entries: this.#entries() };
    this.#next += 1;
    return node;
  }

  #items(): YamlNode[] {
    const items: YamlNode[] = [];
    while (!this.#isAtEnd()) items.push(this.#node());
    return items;
  }

  #entries(): Map<string, YamlEntry> {
    const entries = new Map<string, YamlEntry>();
    while (!this.#isAtEnd()) {
      const event = this.#events[this.#next];
      const key = this.#node();
      const value = this.#node();
      if (event?.type !== EVENT_ID.SCALAR) {
        this.#note('NON_STRING_KEY', key.at);
        continue;
      }
      const name = getScalarValue(this.#text, event);
      if (entries.has(name)) this.#note('DUPLICATE_KEY', key.at);
      entries.set(name, { at: key.at, value });
    }
    return entries;
  }

  #isAtEnd(): boolean {
    return this.#events[this.#next]?.type === EVENT_ID.POP;
  }

  #alias(nameStart: number, nameEnd: number): YamlNode {
    const at = nameStart - 1;
    this.#last = at;
    if (this.#aliases++ === this.#aliasesMax) this.#note('ALIAS', at);
    const target = this.#anchors.get(this.#text.slice(nameStart, nameEnd));
    if (target) {
      this.#aliasUses += 1 + target.aliasUses;
      return { kind: 'alias', at, target: target.node };
    }
    if (this.#aliases <= this.#aliasesMax) this.#note('LOST_ALIAS', at);
    return { kind: 'scalar', at, value: null };
  }

  #placeOf({ style, valueStart }: ScalarEvent): number {
    if (valueStart < 0) return this.#last;
    const isQuoted = style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;
    const isBlock = style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;
    // A block begins at the end of the line of its "|" or ">", which is the line in front of its text.
    this.#last = isQuoted
      ? valueStart - 1
      : isBlock
        ? this.#text.lastIndexOf('\n', valueStart - 1)
        : valueStart;
    return this.#last;
  }

  #tagOf({ tagStart, tagEnd }: Tagged): string {
    return tagStart < 0 ? '' : this.#text.slice(tagStart, tagEnd);
  }

  #value(event: ScalarEvent): YamlScalar['value'] {
    const text = getScalarValue(this.#text, event);
    const tag = this.#tagOf(event);
    if (tag === '') return event.style === SCALAR_STYLE.PLAIN ? toPlainValue(text) : text;
    if (textTags.has(tag) && !this.#hasTagHandles) return text;
    const found = this.#hasTagHandles ? undefined : plainTags[tag as keyof typeof plainTags];
    const value = found ? found.resolve(text, true, found.tagName) : NOT_RESOLVED;
    if (value !== NOT_RESOLVED) return value;
    this.#note('TAG', event.tagStart);
    return null;
  }
}

function toPlainValue(text: string): YamlScalar['value'] {
  if (!mayBeOther.test(text)) return text;
  for (const tag of Object.values(plainTags)) {
    const value = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return text;
}

/** Returns the plain value of a node. All aliases of one node share one value instead of copies. */
export function toPlain(node: YamlNode, shared = new Map<YamlNode, unknown>()): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map((it) => toPlain(it, shared));
    case 'mapping':
      return Object.fromEntries(
        Array.from(node.entries, ([name, { value }]) => [name, toPlain(value, shared)]),
      );
    case 'alias':
      return kept(shared, node.target, () => toPlain(node.target, shared));
  }
}
