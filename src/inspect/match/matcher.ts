import { kept } from '../../util/kept.ts';
import { prepared } from '../../util/prepared.ts';
import { GramScan, type GramTables, type OnCandidate } from '../kernel/gram-scan.ts';
import { anyByte, gramShare, ordinaryTriples, pairShare } from '../patterns/gram-rarity.ts';
import { Needles } from './needles.ts';

/*
 * Finds many literal words in one pass over bytes, at several times the speed of an automaton.
 *
 * An automaton reads a byte, then a table, and the next step waits for the table. Here nothing waits, since
 * the text is read four bytes at a time. At every second position three bytes are hashed into a table, whose
 * entry has a bit for each kind of byte that may follow them.
 *
 * Every second position suffices, because each word has two grams of four bytes in the table, one from an
 * even and one from an odd place. One of them stands at a sampled position wherever the word begins. Each
 * word takes the grams that are rarest in ordinary text, and the multiplier of the hash is chosen so that
 * ordinary text misses. Words of seven bytes and more have grams of six in a table of their own, which hardly
 * ever collide.
 *
 * Only where a table hits are the candidate words compared byte by byte. Where all words have four grams of
 * four bytes, every fourth position is enough. bench/scan.ts measures it.
 */

export interface Matcher {
  /**
   * Calls `onHit` once for every occurrence of every word. ASCII letters are compared without case unless it
   * counts, bytes above 0x7f exactly. Hits come roughly in order: one may precede an earlier one by less than
   * the longest word. The scan ends once `isStopped`, which is called now and then, returns true.
   */
  scan(bytes: Buffer | Uint8Array, onHit: OnHit, isStopped?: () => boolean): void;
}

export type OnHit = (wordIndex: number, start: number) => void;

/** Bounds on what tables cost to make. More effort lets fewer grams of ordinary text hit them by chance. */
interface Effort {
  readonly slotsPerGram: number;
  readonly multipliersTried: number;
}
/**
 * The effort for tables that are made once for each version. Filters of this size still fit into the
 * second-level cache.
 */
const keptEffort: Effort = { slotsPerGram: 64, multipliersTried: 32 };
/** The effort for tables that a call may wait for. */
const quickEffort: Effort = { slotsPerGram: 16, multipliersTried: 1 };
const slotBitsMin = 10;
const slotBitsMax = 17;
const longSlotBitsMax = 16;
const firstMultiplier = 0x9e3779b1;
/**
 * Bound on the slots filled for all multipliers. With many grams the table is full anyway, so fewer
 * multipliers are tried.
 */
const slotsTried = 2 ** 20;
const never = (): boolean => false;
const noNeeds: ReadonlyMap<string, Beside> = new Map();

/** What must stand beside a word. The numbers are those of `src/inspect/kernel/assembly/match.ts`. */
export const beside = { anything: 0, ends: 1, start: 2 } as const;
export type Beside = (typeof beside)[keyof typeof beside];

/**
 * Creates a matcher of UTF-8 words; case counts for those `inCase`. Words with needs are mostly left out
 * inside other words (`ends`) or where no token may begin (`start`). Throws RangeError for a word of less
 * than two bytes.
 */
export function createMatcher(
  words: readonly string[],
  {
    inCase,
    needs = noNeeds,
    keptAs,
  }: {
    readonly inCase?: ReadonlySet<string>;
    readonly needs?: ReadonlyMap<string, Beside>;
    /** The name of the tables, for words that come with the program; see `prepared`. */
    readonly keptAs?: string | undefined;
  } = {},
): Matcher {
  const needed = Uint8Array.from(words, (word) => needs.get(word) ?? beside.anything);
  const effort = keptAs === undefined ? quickEffort : keptEffort;
  const make = (): GramTables => tablesFor(Needles.of(words, inCase), needed, effort);
  const content = (): string => JSON.stringify([words, [...(inCase ?? [])], [...needed]]);
  const tables = keptAs === undefined ? make() : prepared(keptAs, content(), make);
  const needles = new Needles(tables);
  const candidates = new GramScan(tables);
  return {
    scan(bytes, onHit, isStopped = never) {
      const take: OnCandidate = (word, start, isSure) => {
        if (isSure || needles.standsAt(word, bytes, start)) onHit(word, start);
      };
      candidates.scan(bytes, take, isStopped);
    },
  };
}

function tablesFor(needles: Needles, needs: Uint8Array, effort: Effort): GramTables {
  const all = Array.from(needs, (_, word) => needles.valuesOf(word));
  const stride = all.every(({ length }) => length >= longLength) ? 4 : 2;
  const isLong = ({ length }: Uint8Array): boolean => stride === 2 && length >= longLength + stride - 1;
  const grams = all.flatMap((word, index) => (isLong(word) ? [] : chooseGrams(word, index, stride)));
  const longGrams = all.flatMap((word, index) => (isLong(word) ? chooseLongGrams(word, index) : []));
  const shift = shiftFor(grams.length * effort.slotsPerGram, slotBitsMax);
  const multiplier = chooseMultiplier(grams, shift, effort.multipliersTried);
  const followers = buildFollowers(grams, multiplier, shift);
  const { starts, values, folds } = needles;
  const longShift =
    longGrams.length === 0 ? 0 : shiftFor(longGrams.length * effort.slotsPerGram, longSlotBitsMax);
  const lists = new Lists(needles);
  const slots = lists.slotsFor(grams, 32 - shift, (gram, visit) => eachSlot(gram, multiplier, shift, visit));
  const longSlots = lists.slotsFor(longGrams, longShift && 32 - longShift, ({ hash }, visit) =>
    visit(hash >>> longShift),
  );
  return {
    ...{ slots, longSlots, starts, values, folds, needs, multiplier, shift, longShift, stride },
    filter: filterOf(followers),
    longFilter: buildLongFilter(longGrams, longShift),
    entries: Int32Array.from(lists.entries),
    entriesPerListMax: lists.entriesPerListMax,
  };
}

function shiftFor(slotsWanted: number, slotBitsMax: number): number {
  const slotBits = Math.ceil(Math.log2(Math.max(1, slotsWanted)));
  return 32 - Math.min(Math.max(slotBits, slotBitsMin), slotBitsMax);
}

type Four = readonly [number, number, number, number];

const pack = ([a, b, c, d]: Four): number => a | (b << 8) | (c << 16) | (d << 24);

/** Folds four bytes to lower case. Some other bytes become equal too, which comparing the word sorts out. */
const foldFour = (four: number): number => four | 0x20202020;

/** Four folded bytes that identify a word. `offset` is their place in the word, which they may reach over. */
interface Gram {
  readonly wordIndex: number;
  readonly offset: number;
  /** The three hashed bytes, packed, with 0 for one that may be anything. */
  readonly hashed: number;
  /** The bit offset of the byte that may be anything; negative where all are known. */
  readonly freeBits: number;
  /** The fourth byte, or `anyByte`. */
  readonly last: number;
}

/** The least length of a word that has four grams whose hashed bytes are all known. */
const longLength = 6;

/**
 * Chooses the grams that are rarest in ordinary text, one for each remainder of a gram's place by the stride.
 */
function chooseGrams(word: Uint8Array, wordIndex: number, stride: number): readonly Gram[] {
  const byteAt = (index: number): number => (index in word ? (word[index] as number) | 0x20 : anyByte);
  const bytesAt = (offset: number): Four => [
    byteAt(offset),
    byteAt(offset + 1),
    byteAt(offset + 2),
    byteAt(offset + 3),
  ];
  // At most one of the three hashed bytes may lie outside the word, or the table fills up.
  const first = word.length < 4 ? -1 : 0;
  const last = Math.max(word.length - 3, first + stride - 1);
  return Array.from({ length: stride }, (_, remainder) => {
    let best = first + remainder;
    let bestShare = Number.POSITIVE_INFINITY;
    for (let offset = best; offset <= last; offset += stride) {
      const share = gramShare(bytesAt(offset));
      if (share < bestShare) [best, bestShare] = [offset, share];
    }
    return toGram(wordIndex, best, bytesAt(best));
  });
}

/** Six bytes of a long word, which tell apart words that begin or end alike. */
interface LongGram extends Placed {
  readonly hash: number;
}

const longGramLength = 6;

function chooseLongGrams(word: Uint8Array, wordIndex: number): readonly LongGram[] {
  const bytes = word.map((byte) => byte | 0x20);
  return [0, 1].map((remainder) => {
    let best = remainder;
    let bestShare = Number.POSITIVE_INFINITY;
    for (let offset = best; offset <= word.length - longGramLength; offset += 2) {
      const [a, b, c, d, e, f] = bytes.subarray(offset) as unknown as [
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      const share = (gramShare([a, b, c, d]) * gramShare([c, d, e, f])) / pairShare(c, d);
      if (share < bestShare) [best, bestShare] = [offset, share];
    }
    return { wordIndex, offset: best, hash: longHash(bytes.subarray(best)) };
  });
}

/** Hashes six folded bytes, as `src/inspect/kernel/assembly/match.ts` does. */
const longHash = ([a = 0, b = 0, c = 0, d = 0, e = 0, f = 0]: Uint8Array): number =>
  (Math.imul(pack([a, b, c, d]), 0x9e3779b1) + Math.imul(e | (f << 8), 0x85ebca6b)) >>> 0;

/** Creates a filter of one byte for each slot. The next three bits of the hash choose the bit in it. */
function buildLongFilter(grams: readonly LongGram[], shift: number): Uint8Array {
  const filter = new Uint8Array(shift === 0 ? 4 : 2 ** (32 - shift));
  for (const { hash } of grams) {
    const slot = hash >>> shift;
    filter[slot] = (filter[slot] as number) | (1 << ((hash >>> (shift - 3)) & 7));
  }
  return filter;
}

function toGram(wordIndex: number, offset: number, [a, b, c, last]: Four): Gram {
  const known = [a, b, c].map((byte) => (byte === anyByte ? 0 : byte)) as [number, number, number];
  return { wordIndex, offset, hashed: pack([...known, 0]), freeBits: 8 * [a, b, c].indexOf(anyByte), last };
}

/** All 128 values that a byte has when it is folded. */
const foldedBytes = Uint8Array.from({ length: 128 }, (_, n) => (n & 0x1f) | ((n & 0x60) << 1) | 0x20);

/**
 * Calls `visit` for the slots of a gram. That is one slot, or 128 where a hashed byte may be anything, some
 * of them twice.
 */
function eachSlot(
  { hashed, freeBits }: Gram,
  multiplier: number,
  shift: number,
  visit: (slot: number) => void,
): void {
  const slotOf = (four: number): number => Math.imul(foldFour(four), multiplier) >>> shift;
  if (freeBits < 0) visit(slotOf(hashed));
  else for (const byte of foldedBytes) visit(slotOf(hashed | (byte << freeBits)));
}

const slotCount = ({ freeBits }: Gram): number => (freeBits < 0 ? 1 : foldedBytes.length);

/**
 * Returns for each slot a bit for each kind of byte that may follow the three hashed ones. The kind is bits 2
 * to 6 of the folded byte.
 */
function buildFollowers(grams: readonly Gram[], multiplier: number, shift: number): Int32Array {
  const followers = new Int32Array(2 ** (32 - shift));
  for (const gram of grams) {
    const bits = gram.last === anyByte ? -1 : 1 << (foldFour(gram.last) >>> 2);
    eachSlot(gram, multiplier, shift, (slot) => {
      followers[slot] = (followers[slot] as number) | bits;
    });
  }
  return followers;
}

/** Joins the kinds of byte that differ only in the two highest of their five bits. */
function filterOf(followers: Int32Array): Uint8Array {
  const filter = new Uint8Array(followers.length);
  for (let slot = 0; slot < followers.length; slot++) {
    const kinds = followers[slot] as number;
    filter[slot] = kinds | (kinds >> 8) | (kinds >> 16) | (kinds >> 24);
  }
  return filter;
}

/** How many numbers stand before a list of entries, and in each entry; see `GramTables`. */
const headSize = 8;
const entrySize = 6;
/** How many bytes of a word an entry has around its gram: before it, and in all. */
const knownBefore = 2;
const knownBytes = 8;

/** A gram with its place in a word. */
type Placed = Pick<Gram, 'wordIndex' | 'offset'>;

/**
 * Lists the grams of each slot with all that most decisions need, so that few cache lines are touched. The
 * head of a list tells what may stand around its grams. Ordinary text has most grams in other words, and one
 * look at the neighbours rules out the whole list. Slots with the same grams share a list.
 */
class Lists {
  readonly entries: number[] = [];
  entriesPerListMax = 0;
  readonly #needles: Needles;

  constructor(needles: Needles) {
    this.#needles = needles;
  }

  /** Returns the byte offset of each slot's list. `eachSlot` may visit a slot twice in a row. */
  slotsFor<T extends Placed>(
    grams: readonly T[],
    slotBits: number,
    eachSlot: (gram: T, visit: (slot: number) => void) => void,
  ): Int32Array {
    const gramsOf = new Map<number, number[]>();
    grams.forEach((gram, index) => {
      eachSlot(gram, (slot) => {
        const list = kept(gramsOf, slot, () => []);
        if (list.at(-1) !== index) list.push(index);
      });
    });
    const slots = new Int32Array(2 ** slotBits);
    const listAt = new Map<string | number | undefined, number>();
    for (const [slot, list] of gramsOf) {
      const key = list.length === 1 ? list[0] : list.join();
      slots[slot] = kept(listAt, key, () => this.#add(list.map((index) => grams[index] as T)));
    }
    return slots;
  }

  #add(list: readonly Placed[]): number {
    const at = bytesPerNumber * this.entries.length;
    this.entriesPerListMax = Math.max(this.entriesPerListMax, list.length);
    const asked = neighbourPlaces.map((place) =>
      list.reduce((all, it) => all | lowBits(this.#needles.valuesOf(it.wordIndex), it.offset + place), 0),
    );
    const all = list.map(({ wordIndex, offset }) => around(this.#needles, wordIndex, offset - knownBefore));
    const size = bytesPerNumber * (headSize + entrySize * list.length);
    this.entries.push(...asked, size, ...inCommon(all));
    list.forEach(({ wordIndex, offset }, index) => {
      this.entries.push(...(all[index] as Around), wordIndex, offset);
    });
    return at;
  }
}

const bytesPerNumber = Int32Array.BYTES_PER_ELEMENT;

/** The places of the neighbours beside the three hashed bytes. */
const neighbourPlaces = [-1, 3, 4];

/**
 * Returns a set of the bytes that may stand at a place, by their five lowest bits, in which letters have no
 * case. Beside the word any byte may stand.
 */
const lowBits = (word: Uint8Array, place: number): number =>
  place in word ? 1 << (word[place] as number) : -1;

/** Eight bytes of a word and a mask of the bits that count, each as two numbers, the lower one first. */
type Around = readonly [number, number, number, number];

function around(needles: Needles, wordIndex: number, from: number): Around {
  const word = needles.valuesOf(wordIndex);
  const folds = needles.foldsOf(wordIndex);
  const bytes = Buffer.alloc(2 * knownBytes);
  for (let index = 0; index < knownBytes; index++) {
    if (!(from + index in word)) continue;
    bytes[index] = word[from + index] as number;
    bytes[knownBytes + index] = 0xff & ~(folds[from + index] as number);
  }
  return [0, 4, 8, 12].map((at) => bytes.readInt32LE(at)) as unknown as Around;
}

/** Returns the bits that count in all of them and are equal in all. */
function inCommon(all: readonly Around[]): Around {
  const [low, high, lowMask, highMask] = all[0] as Around;
  let [lowSame, highSame] = [lowMask, highMask];
  for (const one of all) {
    lowSame &= one[2] & ~(one[0] ^ low);
    highSame &= one[3] & ~(one[1] ^ high);
  }
  return [low, high, lowSame, highSame];
}

/**
 * Chooses the multiplier with which ordinary text hits least. It tries some odd ones, shifted past the byte
 * that is not hashed.
 */
function chooseMultiplier(grams: readonly Gram[], shift: number, tries: number): number {
  if (tries === 1) return firstMultiplier << 8;
  let best = 0;
  let bestShare = Number.POSITIVE_INFINITY;
  let candidate = firstMultiplier;
  const slots = grams.reduce((sum, gram) => sum + slotCount(gram), 0);
  const rounds = Math.min(tries, Math.ceil(slotsTried / Math.max(1, slots)));
  for (let round = 0; round < rounds; round++) {
    const multiplier = (candidate | 1) << 8;
    const share = hitShare(buildFollowers(grams, multiplier, shift), multiplier, shift);
    if (share < bestShare) [best, bestShare] = [multiplier, share];
    candidate = Math.imul(candidate, 1664525) + 1013904223;
  }
  return best;
}

function hitShare(followers: Int32Array, multiplier: number, shift: number): number {
  const { packed, share } = ordinaryTriples();
  let sum = 0;
  for (let index = 0; index < packed.length; index++) {
    const bits = followers[Math.imul(foldFour(packed[index] as number), multiplier) >>> shift] as number;
    if (bits !== 0) sum += (share[index] as number) * bitCount(bits);
  }
  return sum;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}
