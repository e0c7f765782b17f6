import { bytesMatching, tableOf } from './byte-set.ts';
import type { Node } from './pattern-syntax.ts';

/*
 * A token that was cut: its anchor stands at the end of a value, with too little behind it to match. What is missing may come in the next
 * field, or with the next call. Read off the detectors' patterns, so that no detector has to say it.
 */

/** The part of a token behind its prefix, where that is one run of characters: `gh[pousr]_[0-9A-Za-z]{36}`. */
export interface TokenBody {
  /** Lengths that the prefix may have. */
  readonly prefixLengths: ReadonlySet<number>;
  /** `alphabet[byte]` is 1 where the body may have the byte. */
  readonly alphabet: Uint8Array;
  readonly min: number;
  readonly max: number;
}

/** Shorter bodies say too little. */
const bodyLengthMin = 16;

/** The body of a pattern's token, of several forms the first that has one; undefined where it is made in another way. */
export function bodyOf(node: Node): TokenBody | undefined {
  const items = flatten(node).filter(({ kind }) => kind !== 'edge' && kind !== 'look');
  const [only] = items;
  if (items.length === 1 && only?.kind === 'choice')
    return only.options.map(bodyOf).find((body) => body !== undefined);
  // What may follow the body or not is no part of it.
  const last = items.findLastIndex((item) => item.kind !== 'repeat' || item.min > 0);
  const body = items[last];
  if (body?.kind !== 'repeat' || body.item.kind !== 'set' || body.min < bodyLengthMin) return undefined;
  const prefixLengths = lengthsOf({ kind: 'sequence', items: items.slice(0, last) });
  return prefixLengths && { prefixLengths, alphabet: tableOf(body.item.has), min: body.min, max: body.max };
}

const flatten = (node: Node): readonly Node[] =>
  node.kind === 'sequence' ? node.items.flatMap(flatten) : [node];

/** The lengths that matches of the node can have; undefined where they are not few. */
function lengthsOf(node: Node): ReadonlySet<number> | undefined {
  switch (node.kind) {
    case 'set':
      return new Set([1]);
    case 'edge':
    case 'look':
      return new Set([0]);
    case 'repeat':
      return node.min === node.max && node.item.kind === 'set' ? new Set([node.min]) : undefined;
    case 'choice':
      return combined(node.options, (lengths, more) => [...lengths, ...more], []);
    case 'sequence':
      return combined(
        node.items,
        (lengths, more) => lengths.flatMap((one) => more.map((other) => one + other)),
        [0],
      );
  }
}

function combined(
  nodes: readonly Node[],
  combine: (lengths: readonly number[], more: readonly number[]) => readonly number[],
  initial: readonly number[],
): ReadonlySet<number> | undefined {
  let lengths = new Set(initial);
  for (const node of nodes) {
    const more = lengthsOf(node);
    if (!more) return undefined;
    lengths = new Set(combine([...lengths], [...more]));
  }
  return lengths;
}

const isTokenByte = tableOf(bytesMatching(/[0-9A-Za-z_+/=.~:%$-]/));
/** What may stand behind the value of a field. */
const endsValue = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\'\\&<,;]\r\n\u001e'.includes(String.fromCharCode(byte)) ? 1 : 0,
);
/** Of a piece; longer ones are no beginnings of tokens. */
const pieceLengthMax = 512;

/** Of a piece behind its prefix: documentation and masked keys show less. */
const pieceLengthMin = 6;

/** Whether a text of some length can be a piece of something random: words and numbers have characters of one kind. */
export function looksRandom(text: string): boolean {
  return [/[a-z]/, /.[A-Z]/, /\d/].filter((kind) => kind.test(text)).length > 1;
}

/** Where the value ends that the token from `start` on stands at the end of; -1 where more follows. */
export function cutTokenEnd(bytes: Uint8Array, start: number): number {
  const limit = Math.min(bytes.length, start + pieceLengthMax);
  let end = start;
  while (end < limit && isTokenByte[bytes[end] ?? 0] === 1) end += 1;
  return end === bytes.length || endsValue[bytes[end] ?? 0] === 1 ? end : -1;
}

export interface Missing {
  readonly min: number;
  readonly max: number;
}

/** How many characters of its body a token lacks that ends at `end`; undefined where it is not plainly of this form so far. */
export function missingOf(
  { prefixLengths, alphabet, min, max }: TokenBody,
  bytes: Buffer,
  [start, end]: readonly [number, number],
  anchorLength: number,
): Missing | undefined {
  const from = start + anchorLength;
  const length = end - from;
  if (!prefixLengths.has(anchorLength) || length < pieceLengthMin || length >= min) return undefined;
  for (let at = from; at < end; at += 1) if (alphabet[bytes[at] ?? 0] === 0) return undefined;
  return looksRandom(bytes.toString('latin1', from, end))
    ? { min: min - length, max: max - length }
    : undefined;
}
