import { randomBits } from '../checks/letter-pairs.ts';
import { byteSet } from '../kernel/bytes.ts';
import { bitsOf } from './alphabet.ts';
import { type ByteSet, bytesMatching, noBytes, tableOf, union } from './byte-set.ts';
import type { Node } from './pattern-syntax.ts';
import { RunEnds } from './run-ends.ts';

/*
 * Recognises cut tokens: an anchor stands at the end of a value, with too little behind it to match. The
 * continuation may come in the next field, or with the next call. All that is needed is read off the
 * patterns, so that no detector has to state it.
 */

/** The part of a token behind its prefix, where it is random to its end: `gh[pousr]_[0-9A-Za-z]{36}`. */
export interface TokenBody {
  /** The lengths that the prefix may have. */
  readonly prefixLengths: ReadonlySet<number>;
  /** 1 at each byte that may stand in the body. */
  readonly alphabet: Uint8Array;
  readonly min: number;
  readonly max: number;
}

/**
 * The least lengths of a body: of one length, and of variable length. Shorter bodies prove too little. Bodies
 * of variable length are issued longer than their pattern requires.
 */
const bodyLengthMin = 16;
const openLengthMin = 10;
/**
 * The least length of a random run. A shorter run of a set is a version or a region, and belongs to the
 * prefix.
 */
const runLengthMin = 8;
/**
 * The least length of the prefix before a body of several segments and any length, since all encoded JSON
 * begins with `eyJ`.
 */
const prefixLengthMin = 4;

/**
 * Returns the body of a pattern's token, the first where there are several. Returns undefined for other
 * structures.
 */
export function bodyOf(node: Node): TokenBody | undefined {
  const items = flatten(node).filter(({ kind }) => kind !== 'edge' && kind !== 'look');
  // Optional items at the end are no part of the body.
  const end = items.findLastIndex((item) => item.kind !== 'repeat' || item.min > 0) + 1;
  const last = items[end - 1];
  if (last?.kind === 'choice') {
    const before = items.slice(0, end - 1);
    const forms = last.options.map((option) => bodyOf({ kind: 'sequence', items: [...before, option] }));
    return forms.find((body) => body !== undefined);
  }
  const start = items.findIndex((item) => item.kind === 'repeat' && isRun(item));
  if (start < 0) return undefined;
  const body = extentOf({ kind: 'sequence', items: items.slice(start, end) });
  const prefixLengths = lengthsOf({ kind: 'sequence', items: items.slice(0, start) });
  if (!prefixLengths || !body) return undefined;
  const isOpen = body.min < body.max;
  if (body.min < (isOpen ? openLengthMin : bodyLengthMin)) return undefined;
  if (isOpen && end - start > 1 && Math.min(...prefixLengths) < prefixLengthMin) return undefined;
  return { prefixLengths, alphabet: tableOf(body.has), min: body.min, max: body.max };
}

const flatten = (node: Node): readonly Node[] =>
  node.kind === 'sequence' ? node.items.flatMap(flatten) : [node];

const isRun = ({ item, min }: Node & { kind: 'repeat' }): boolean =>
  item.kind === 'set' && min >= runLengthMin;

/**
 * Returns the bytes of matches, and their least and greatest length, for runs and single characters. Returns
 * undefined for other nodes.
 */
function extentOf(node: Node): { has: ByteSet; min: number; max: number } | undefined {
  if (node.kind === 'set') return { has: node.has, min: 1, max: 1 };
  if (node.kind === 'repeat')
    return node.item.kind === 'set' ? { has: node.item.has, min: node.min, max: node.max } : undefined;
  if (node.kind !== 'sequence') return undefined;
  let whole = { has: noBytes, min: 0, max: 0 };
  for (const item of node.items) {
    const one = extentOf(item);
    if (!one) return undefined;
    whole = { has: union(whole.has, one.has), min: whole.min + one.min, max: whole.max + one.max };
  }
  return whole;
}

/** Returns the lengths that matches can have; undefined where there are many. */
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

const tokenBits = bitsOf(bytesMatching(/[0-9A-Za-z_+/=.:~%$-]/));
/** 1 for each character that may stand behind the value of a field. */
const endsValue = byteSet('"\'\\&<,;]\r\n\u001e');
/** Bound on the length of a piece; longer ones are no beginnings of tokens. */
const pieceLengthMax = 512;

/** The least length of a piece behind its prefix. Documentation and masked keys show less. */
const pieceLengthMin = 6;

/**
 * Tells whether a text may be a piece of something random, because it has characters of two kinds. Words and
 * numbers have one.
 */
export function looksRandom(text: string): boolean {
  return [/[a-z]/, /.[A-Z]/, /\d/].filter((kind) => kind.test(text)).length > 1;
}

/** Finds the ends of pieces. Pieces that begin within each other are read once. */
export class PieceEnds {
  readonly #bytes: Uint8Array;
  readonly #tokens: RunEnds;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#tokens = new RunEnds(bytes, tokenBits);
  }

  /** Returns the end of the value that ends with the token at `start`; -1 where more follows in the value. */
  endOf(start: number): number {
    const end = this.#tokens.endOf(start, start + pieceLengthMax);
    return end === this.#bytes.length || endsValue[this.#bytes[end] ?? 0] === 1 ? end : -1;
  }
}

export interface Missing {
  readonly min: number;
  readonly max: number;
}

/** Matches the number of an account, which is the first segment of some tokens. */
const number = /\d{8}/;

/** The least length of a body's beginning, because fewer characters look random by accident. */
const beginningLengthMin = 4;

/** Tells whether enough of a token's body stands behind an anchor that ordinary words have too. */
export function beginsToken(
  { alphabet }: TokenBody,
  bytes: Buffer,
  [start, end]: readonly [number, number],
): boolean {
  if (end - start < beginningLengthMin) return false;
  for (let at = start; at < end; at += 1) if (alphabet[bytes[at] ?? 0] === 0) return false;
  return looksRandom(bytes.toString('latin1', start, end));
}

const wordsLengthMin = 5;
const letters = /^[A-Za-z_./-]+$/;

/**
 * Tells whether only words stand behind a prefix, as in `pathIndex`, `key_share` and `api-stream.js`. No
 * secret begins so.
 */
export const isOfWords = (rest: string): boolean =>
  rest.length >= wordsLengthMin && letters.test(rest) && randomBits(rest) < 0;

/**
 * Returns how many characters of its body a token lacks that ends at `end`. Returns undefined where it is not
 * plainly of this form.
 */
export function missingOf(
  { prefixLengths, alphabet, min, max }: TokenBody,
  bytes: Buffer,
  [start, end]: readonly [number, number],
  anchorLength: number,
): Missing | undefined {
  // The anchor may be a part of the prefix; the rest of the prefix is a version or a kind.
  const prefixLength = Math.min(...[...prefixLengths].filter((it) => it >= anchorLength));
  const from = start + prefixLength;
  const length = end - from;
  if (length < pieceLengthMin || length >= min) return undefined;
  for (let at = from; at < end; at += 1) if (alphabet[bytes[at] ?? 0] === 0) return undefined;
  const piece = bytes.toString('latin1', from, end);
  return looksRandom(piece) || number.test(piece) ? { min: min - length, max: max - length } : undefined;
}
