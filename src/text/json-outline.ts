import { JsonTokens } from './json-tokens.ts';

/** Members and elements in the order of the text; columns of numbers, because a text may have a value every two bytes. */
export interface Outline {
  /** Where the key, or the element, begins. */
  readonly starts: number[];
  readonly ends: number[];
  /** The entry that holds this one; -1 at the top. */
  readonly parents: number[];
  /** Of a member the end of its key, of an element its index as -1 - index. */
  readonly names: number[];
}

interface Container {
  /** -1 at the top, and where it is too deep to be listed. */
  readonly entry: number;
  readonly isObject: boolean;
  index: number;
  /** The entry of the member whose value is awaited. */
  member: number | undefined;
}

/** The outline of a JSON text, to `depthMax` containers inside one another; what lies deeper belongs to the last of them. */
export function outlineOf(bytes: Buffer, depthMax: number): Outline {
  const outline: Outline = { starts: [], ends: [], parents: [], names: [] };
  const open: Container[] = [];
  const tokens = new JsonTokens(bytes);
  const add = (container: Container, name: number): number => {
    if (open.length > depthMax) return -1;
    outline.starts.push(tokens.start);
    outline.names.push(name);
    outline.parents.push(container.entry);
    return outline.ends.push(tokens.end) - 1;
  };
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const container = open.at(-1);
    if (kind === ':') continue;
    if (kind === ',') {
      if (container) nextMember(container);
    } else if (kind === '}' || kind === ']') {
      const closed = open.pop();
      if (closed && closed.entry >= 0) outline.ends[closed.entry] = tokens.end;
    } else if (container?.isObject && container.member === undefined && kind === 'string') {
      container.member = add(container, tokens.end);
    } else {
      const entry = entryOfValue(container, add);
      const isOpening = kind === '{' || kind === '[';
      if (isOpening) open.push({ entry, isObject: kind === '{', index: 0, member: undefined });
      // What is never closed reaches to the end.
      if (entry >= 0) outline.ends[entry] = isOpening ? bytes.length : tokens.end;
    }
  }
  return outline;
}

function entryOfValue(
  container: Container | undefined,
  add: (container: Container, name: number) => number,
): number {
  if (!container) return -1;
  return container.isObject ? (container.member ?? -1) : add(container, -1 - container.index);
}

function nextMember(container: Container): void {
  container.index += 1;
  container.member = undefined;
}
