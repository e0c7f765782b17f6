import { type JsonTokenKind, JsonTokens } from './json-tokens.ts';

/**
 * Members and elements in the order of the text. They stand in columns of numbers, because a text may have a
 * value every two bytes.
 */
export interface OutlineColumns {
  /** The start of the key, or of the element. */
  readonly starts: number[];
  readonly ends: number[];
  /** The entry that contains this one; -1 at the top. */
  readonly parents: number[];
  /** The end of a member's key; -1 minus its index for an element. */
  readonly names: number[];
}

/** The tokens of a member: a key, its colon and its value. */
const tokensBehind = 3;

interface Container {
  /** The entry; -1 at the top, and where it is too deep to be listed. */
  readonly entry: number;
  readonly isObject: boolean;
  index: number;
  /** The entry of the member whose value comes next; undefined where a key or an element does. */
  member: number | undefined;
}

/**
 * Makes the outline of a JSON text to `depthMax` containers inside one another; deeper values belong to the
 * last of them. It grows as far as it is asked for.
 */
export class JsonOutline implements OutlineColumns {
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly parents: number[] = [];
  readonly names: number[] = [];
  readonly #open: Container[] = [];
  readonly #tokens: JsonTokens;
  readonly #length: number;
  readonly #depthMax: number;

  constructor(bytes: Buffer, depthMax: number) {
    this.#tokens = new JsonTokens(bytes);
    this.#length = bytes.length;
    this.#depthMax = depthMax;
  }

  /** Grows the outline until it covers the offset; a key needs its value too. */
  reachTo(offset: number): void {
    const tokens = this.#tokens;
    if (tokens.start > offset) return;
    for (let behind = 0; behind < tokensBehind && tokens.next() !== 'end'; ) {
      this.#take(tokens.kind);
      if (tokens.start > offset) behind += 1;
    }
  }

  #take(kind: JsonTokenKind): void {
    const container = this.#open.at(-1);
    if (kind === ':') return;
    if (kind === ',') {
      if (container) nextMember(container);
    } else if (kind === '}' || kind === ']') {
      const closed = this.#open.pop();
      if (closed && closed.entry >= 0) this.ends[closed.entry] = this.#tokens.end;
    } else if (container?.isObject && container.member === undefined && kind === 'string') {
      container.member = this.#add(container, this.#tokens.end);
    } else {
      const entry = this.#entryOfValue(container);
      const isOpening = kind === '{' || kind === '[';
      if (isOpening) this.#open.push({ entry, isObject: kind === '{', index: 0, member: undefined });
      // A container that is never closed reaches to the end.
      if (entry >= 0) this.ends[entry] = isOpening ? this.#length : this.#tokens.end;
    }
  }

  #add(container: Container, name: number): number {
    if (this.#open.length > this.#depthMax) return -1;
    this.starts.push(this.#tokens.start);
    this.names.push(name);
    this.parents.push(container.entry);
    return this.ends.push(this.#tokens.end) - 1;
  }

  #entryOfValue(container: Container | undefined): number {
    if (!container) return -1;
    return container.isObject ? (container.member ?? -1) : this.#add(container, -1 - container.index);
  }
}

function nextMember(container: Container): void {
  container.index += 1;
  container.member = undefined;
}

/** Returns the outline of the whole text. */
export function jsonOutlineOf(bytes: Buffer, depthMax: number): OutlineColumns {
  const outline = new JsonOutline(bytes, depthMax);
  outline.reachTo(bytes.length);
  return outline;
}
