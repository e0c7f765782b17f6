import { type ByteSet, isSingle, noBytes, union } from './byte-set.ts';
import { shareOfByte } from './gram-rarity.ts';
import { childrenOf, type Node, reachOf } from './pattern-syntax.ts';

/*
 * Rules out places where a pattern cannot match by looking at the bytes. Most places are too short for it.
 * They have five characters of its alphabet behind a prefix instead of forty, or no number in a keyword's
 * window. This takes a tenth of the time of running the pattern.
 */

/** The bytes and the length of all matches of a pattern, or of a part of it. */
export interface Alphabet {
  /** The bytes that a match can contain, 32 of the 256 in each number. */
  readonly byteBits: Int32Array;
  /** The least length of a match. */
  readonly lengthMin: number;
}

export const alphabetOf = (pattern: Node): Alphabet => ({
  byteBits: bitsOf(bytesOf(pattern)),
  lengthMin: lengthMinOf(pattern),
});

/** The part of a pattern that is rarest in ordinary text. */
export interface Core {
  readonly alphabet: Alphabet;
  /** Bound on how many bytes before this part a match may begin. */
  readonly lead: number;
}

/** A part of a pattern: bytes of one set in a row. */
interface Part {
  readonly has: ByteSet;
  readonly length: number;
  readonly lead: number;
  /** How rare the part is, in bits. */
  readonly bits: number;
}

const leadMax = 256;
/** How many bits make a part rare enough. Among such parts, the one with the least lead wins. */
const bitsEnough = 32;
const bitsPerLead = 1 / 16;

export function coreOf(pattern: Node): Core {
  const { has, length, lead } = rarest([partOf(pattern, 0), ...corePartsOf(pattern, 0)]) as Part;
  return { alphabet: { byteBits: bitsOf(has), lengthMin: length }, lead };
}

const rarest = (parts: readonly Part[]): Part | undefined => {
  const worthOf = ({ bits, lead }: Part): number => Math.min(bits, bitsEnough) - lead * bitsPerLead;
  return parts.reduce<Part | undefined>(
    (best, part) => (best === undefined || worthOf(part) > worthOf(best) ? part : best),
    undefined,
  );
};

const partOf = (node: Node, lead: number): Part => toPart(bytesOf(node), lengthMinOf(node), lead);

const toPart = (has: ByteSet, length: number, lead: number): Part => ({
  ...{ has, length, lead },
  bits: -length * Math.log2(shareOfSet(has)),
});

/** Returns the parts that any match contains. `lead` is how many bytes may stand before the node. */
function corePartsOf(node: Node, lead: number): readonly Part[] {
  if (lead > leadMax) return [];
  if (node.kind === 'repeat') return node.min > 0 ? corePartsOf(node.item, lead) : [];
  if (node.kind === 'choice') {
    const bests = node.options.map((option) => rarest(corePartsOf(option, lead)));
    return bests.every((best) => best !== undefined) ? [eitherOf(bests)] : [];
  }
  if (node.kind !== 'sequence') return node.kind === 'set' ? [partOf(node, lead)] : [];
  const items = node.items.map((it) => ({ has: bytesOf(it), length: lengthMinOf(it), reach: reachOf(it) }));
  const parts: Part[] = [];
  let passed = lead;
  for (let from = 0; from < items.length && passed <= leadMax; from++) {
    parts.push(...corePartsOf(node.items[from] as Node, passed));
    let [has, length] = [noBytes, 0];
    for (const item of items.slice(from)) {
      has = union(has, item.has);
      length += item.length;
      parts.push(toPart(has, length, passed));
    }
    passed += items[from]?.reach ?? 0;
  }
  return parts;
}

function eitherOf(parts: readonly Part[]): Part {
  const has = parts.map((part) => part.has).reduce(union, noBytes);
  const length = Math.min(...parts.map((part) => part.length));
  return toPart(has, length, Math.max(...parts.map((part) => part.lead)));
}

/** The sets of the first bytes of a match, eight numbers for each byte. */
export type FirstBytes = Int32Array;

export const headLengthMax = 8;

export const headOf = (pattern: Node): FirstBytes =>
  Int32Array.from(
    headSets(pattern)
      .sets.slice(0, headLengthMax)
      .flatMap((set) => [...bitsOf(set)]),
  );

/** Tells whether a match may begin at `start`, by its first bytes. */
export function mayBegin(head: FirstBytes, bytes: Uint8Array, start: number): boolean {
  for (let at = start, from = 0; from < head.length; at += 1, from += 8) {
    const byte = bytes[at];
    if (byte === undefined || (((head[from + (byte >> 5)] as number) >> (byte & 31)) & 1) === 0) return false;
  }
  return true;
}

/** The sets of the first bytes. `isWhole` tells that the next part of the pattern follows directly. */
interface HeadSets {
  readonly sets: readonly ByteSet[];
  readonly isWhole: boolean;
}

function headSets(node: Node): HeadSets {
  switch (node.kind) {
    case 'set':
      return { sets: [node.has], isWhole: true };
    case 'edge':
    case 'look':
      return { sets: [], isWhole: true };
    case 'repeat': {
      const item = headSets(node.item);
      if (node.min === 0) return { sets: [], isWhole: node.max === 0 };
      const times = item.isWhole ? Math.min(node.min, headLengthMax) : 1;
      const sets = Array.from({ length: times }, () => item.sets).flat();
      return { sets, isWhole: item.isWhole && node.min === node.max && times === node.min };
    }
    case 'choice': {
      const options = node.options.map(headSets);
      const length = Math.min(...options.map(({ sets }) => sets.length));
      const sets = Array.from({ length }, (_, at) =>
        options.map((option) => option.sets[at] as ByteSet).reduce(union),
      );
      return { sets, isWhole: options.every((option) => option.isWhole && option.sets.length === length) };
    }
    case 'sequence': {
      const sets: ByteSet[] = [];
      for (const item of node.items) {
        const head = headSets(item);
        sets.push(...head.sets);
        if (!head.isWhole || sets.length >= headLengthMax) return { sets, isWhole: false };
      }
      return { sets, isWhole: true };
    }
  }
}

/** Returns the bytes that every match contains. */
export function neededBytes(node: Node): ByteSet {
  switch (node.kind) {
    case 'set':
      return isSingle(node.has) ? node.has : noBytes;
    case 'edge':
    case 'look':
      return noBytes;
    case 'repeat':
      return node.min > 0 ? neededBytes(node.item) : noBytes;
    case 'choice':
      return node.options.map(neededBytes).reduce((all, one) => all & one);
    case 'sequence':
      return node.items.map(neededBytes).reduce(union, noBytes);
  }
}

/** Returns the earliest start, not before `from`, of a match that contains all bytes up to `start`. */
export function beginOf({ byteBits }: Alphabet, bytes: Uint8Array, from: number, start: number): number {
  let begin = start;
  while (begin > from && has(byteBits, bytes[begin - 1] as number)) begin -= 1;
  return begin;
}

/**
 * Returns the first place in the span where enough bytes of the alphabet follow; `to` where there is none.
 */
export function nextOf(
  { byteBits, lengthMin }: Alphabet,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  const end = Math.min(to, bytes.length - lengthMin + 1);
  let start = from;
  let known = from;
  while (start < end) {
    // The search goes backwards, since a byte found there rules out all places before it at once.
    const last = start + lengthMin - 1;
    let at = last;
    for (; at >= known; at -= 1) {
      const byte = bytes[at] as number;
      if ((((byteBits[byte >> 5] as number) >> (byte & 31)) & 1) === 0) break;
    }
    if (at < known) return start;
    start = at + 1;
    known = last + 1;
  }
  return to;
}

/** Finds places as `nextOf` does. Where starts come in order, it reads no byte twice. */
export class NextPlaces {
  readonly #bytes: Uint8Array;
  /** The last start, what was found for it, and whether that is a place. */
  #start = 0;
  #next = 0;
  #isPlace = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Forgets what is known, since another alphabet follows. */
  forget(): void {
    this.#next = -1;
  }

  /** Returns the first place in the span; `to` where there is none. Spans that begin later end no earlier. */
  nextOf(alphabet: Alphabet, start: number, to: number): number {
    const isKnown = this.#start <= start && start <= this.#next;
    this.#start = start;
    if (isKnown && this.#isPlace) return this.#next;
    this.#next = nextOf(alphabet, this.#bytes, isKnown ? this.#next : start, to);
    this.#isPlace = this.#next < to;
    return this.#next;
  }
}

/**
 * Returns the latest end of a match that begins before `from`. That is the next byte outside its alphabet, or
 * `to`, or the end of the text.
 */
export function endOf({ byteBits }: Alphabet, bytes: Uint8Array, from: number, to: number): number {
  const limit = Math.min(to, bytes.length);
  let end = from;
  while (end < limit && has(byteBits, bytes[end] as number)) end += 1;
  return end;
}

/** Tells whether a match can contain this byte. */
export const mayHave = ({ byteBits }: Alphabet, byte: number): boolean => has(byteBits, byte);

export const has = (bits: Int32Array, byte: number): boolean =>
  (((bits[byte >> 5] as number) >> (byte & 31)) & 1) === 1;

export const bitsOf = (set: ByteSet): Int32Array =>
  Int32Array.from({ length: 8 }, (_, index) => Number(BigInt.asIntN(32, set >> BigInt(32 * index))));

/** Returns all bytes of matches; lookarounds are no part of a match. */
export function bytesOf(node: Node): ByteSet {
  if (node.kind === 'set') return node.has;
  if (node.kind === 'look') return noBytes;
  return childrenOf(node).map(bytesOf).reduce(union, noBytes);
}

export function lengthMinOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1;
    case 'edge':
    case 'look':
      return 0;
    case 'repeat':
      return node.min * lengthMinOf(node.item);
    case 'choice':
      return Math.min(...node.options.map(lengthMinOf));
    case 'sequence':
      return node.items.reduce((sum, item) => sum + lengthMinOf(item), 0);
  }
}

/**
 * The share of ordinary text that the bytes of a mask have. There is one for each eight of the 256 bytes and
 * each mask.
 */
const sharesOfEight = Float64Array.from({ length: 32 * 256 }, (_, index) => {
  const [first, mask] = [8 * (index >> 8), index & 255];
  return [0, 1, 2, 3, 4, 5, 6, 7].reduce(
    (sum, bit) => ((mask >> bit) & 1 ? sum + shareOfByte(first + bit) : sum),
    0,
  );
});

const words = new BigUint64Array(4);
const masks = new Uint8Array(words.buffer);

/** Returns the share of ordinary text that is in the set, from 0.001 to 1. */
function shareOfSet(set: ByteSet): number {
  for (let at = 0; at < words.length; at++) words[at] = BigInt.asUintN(64, set >> BigInt(64 * at));
  let share = 0.001;
  for (let at = 0; at < masks.length; at++)
    share += sharesOfEight[256 * at + (masks[at] as number)] as number;
  return Math.min(share, 1);
}
