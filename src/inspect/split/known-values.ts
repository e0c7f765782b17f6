import type { DataClass } from '../../core/call.ts';
import { randomBits } from '../checks/letter-pairs.ts';
import { isIdentifier } from '../checks/plain-values.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import type { Match } from '../match/engine.ts';
import type { Placed } from '../match/placed.ts';
import { standsAlone } from '../match/token-start.ts';

/*
 * Finds known values again. A password that the word before it reveals may stand elsewhere without that word.
 * Each place counts, in every form of the text, since redaction must not cut one and send the other.
 */

/**
 * A match with the view that it was found in. The view is undefined where the match was joined from pieces.
 */
export interface LocatedMatch extends Placed<Match> {
  readonly view: View | undefined;
  /** Tells whether it was joined from pieces, none of which shows it alone. */
  readonly isJoined?: true;
  /** The value that counts wherever it stands, where the view is not kept; else undefined. */
  readonly value?: string | undefined;
}

interface KnownValueLimits {
  readonly max: number;
  readonly isOver: () => boolean;
  readonly uncounted: Set<DataClass>;
}

/** The least length of a value in bytes, because shorter ones occur in many words and numbers. */
const valueBytesMin = 8;

/**
 * Finds the places of known secrets and personal data that no detector saw. Finds at most `max` of each
 * class, and none once the time is over. Classes with more are added to `uncounted`.
 */
export function findKnownValues(
  found: readonly LocatedMatch[],
  views: readonly Pick<View, 'bytes' | 'toSource'>[],
  { max, isOver, uncounted }: KnownValueLimits,
): LocatedMatch[] {
  if (found.length === 0) return [];
  const values = valuesOf(found);
  if (values.size === 0) return [];
  const counts = new Map<DataClass, number>();
  const finder = new ValueFinder(values);
  const knownValueMatches: LocatedMatch[] = [];
  try {
    for (const view of views) {
      const isCovered = insideAnyOf(found.filter((it) => it.view === view));
      const isWanted = ({ detector }: Match, start: number, end: number): boolean =>
        !uncounted.has(detector.class) &&
        !isCovered(start, end) &&
        (detector.class === 'SECRETS' || standsAlone(view.bytes, start, end));
      for (const { match, start, end } of finder.find(view.bytes, isWanted, isOver)) {
        const { class: dataClass } = match.detector;
        const count = (counts.get(dataClass) ?? 0) + 1;
        counts.set(dataClass, count);
        if (count > max) uncounted.add(dataClass);
        else knownValueMatches.push({ match, view: undefined, ...view.toSource(start, end) });
      }
    }
    return knownValueMatches;
  } finally {
    finder.forget();
  }
}

/** The number of a value's first bytes by which it is looked up. */
const startBytes = 4;
const slotBits = 16;
/** The factor that spreads similar inputs: the golden ratio in 32 bits (Knuth, TAOCP 6.4). */
const multiplier = 0x9e3779b1;
const stepsPerQuestion = 1 << 14;
/** Bound on the lengths of values with the same first bytes. Further values are searched one by one. */
const lengthsMax = 8;
/** The greatest number of values for which searching one by one is faster than one pass for all. */
const fewValues = 6;
/**
 * The distance between the places that are looked at. It lets one of them meet one of the first four bytes of
 * any value.
 */
const stride = 4;

/** Values with the same first bytes and the same length. */
interface Alike {
  readonly length: number;
  /** Their last bytes, which are compared before the whole values. */
  readonly ends: Set<number>;
}

type Counts = (match: Match, start: number, end: number) => boolean;
type Place = Span & { readonly match: Match };

/**
 * A filter by four bytes, with a bit for each of a value's first four places where these stand. Only one
 * finder uses it at a time.
 */
const mayHold = new Uint8Array(1 << slotBits);

/**
 * Finds many values in one pass. A table may hold a thousand passwords, for which a pass each would take too
 * long.
 */
class ValueFinder {
  readonly #values: ReadonlyMap<string, Match>;
  /** The values of each length by their first bytes, the longest first. */
  readonly #alike = new Map<number, Alike[]>();
  readonly #others: string[] = [];

  constructor(values: ReadonlyMap<string, Match>) {
    this.#values = values;
    const longestFirst = [...values.keys()].sort((a, b) => b.length - a.length);
    if (values.size <= fewValues) {
      this.#others.push(...longestFirst);
      return;
    }
    for (const value of longestFirst) {
      const bytes = Buffer.from(value, 'latin1');
      const start = bytes.readInt32LE();
      const lists = this.#alike.get(start) ?? [];
      const known = lists.find(({ length }) => length === value.length);
      if (!known && lists.length >= lengthsMax) {
        this.#others.push(value);
        continue;
      }
      const alike = known ?? { length: value.length, ends: new Set() };
      alike.ends.add(bytes.readInt32LE(value.length - startBytes));
      if (!known) lists.push(alike);
      this.#alike.set(start, lists);
      for (let place = 0; place < stride; place += 1) {
        const slot = slotOf(bytes.readInt32LE(place));
        mayHold[slot] = (mayHold[slot] as number) | (1 << place);
      }
    }
  }

  /** Frees the shared filter. It must be called before the next finder is made. */
  forget(): void {
    if (this.#alike.size > 0) mayHold.fill(0);
  }

  /** Yields the places that count, until `isOver` returns true. The places of one value do not overlap. */
  *find(bytes: Buffer, counts: Counts, isOver: () => boolean): Iterable<Place> {
    if (this.#alike.size > 0) yield* this.#findMany(bytes, counts, isOver);
    for (const value of this.#others) {
      if (isOver()) return;
      const match = this.#values.get(value) as Match;
      let at = bytes.indexOf(value, 0, 'latin1');
      for (; at >= 0; at = bytes.indexOf(value, at + value.length, 'latin1')) {
        const end = at + value.length;
        if (counts(match, at, end)) yield { match, start: at, end };
      }
    }
  }

  /** Yields places from left to right, none of them within another. */
  *#findMany(bytes: Buffer, counts: Counts, isOver: () => boolean): Iterable<Place> {
    let last: { readonly match: Match; readonly end: number } | undefined;
    let steps = 0;
    for (let at = 0; at + startBytes <= bytes.length; at += stride) {
      if (++steps % stepsPerQuestion === 0 && isOver()) return;
      const four =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
      const places = mayHold[slotOf(four)] as number;
      if (places === 0) continue;
      for (let from = at - stride + 1; from <= at; from += 1) {
        if (from < 0 || (places & (1 << (at - from))) === 0) continue;
        for (const { length, ends } of this.#alike.get(bytes.readInt32LE(from)) ?? none) {
          const end = from + length;
          if (last && end <= last.end) break;
          if (end > bytes.length || !ends.has(bytes.readInt32LE(end - startBytes))) continue;
          steps += stepsOfValue;
          const match = this.#values.get(bytes.toString('latin1', from, end));
          if (!match || (last && match === last.match && from < last.end) || !counts(match, from, end))
            continue;
          last = { match, end };
          yield { match, start: from, end };
          break;
        }
      }
    }
  }
}

/** The number of bytes whose pass takes as long as comparing one value. */
const stepsOfValue = 128;
const none: readonly never[] = Object.freeze([]);
const slotOf = (start: number): number => Math.imul(start, multiplier) >>> (32 - slotBits);

/** Maps each value that counts, byte for byte, to the match that tells what it is. */
function valuesOf(found: readonly LocatedMatch[]): Map<string, Match> {
  const values = new Map<string, Match>();
  for (const it of found) {
    const value = countedValue(it);
    if (value !== undefined && !values.has(value)) values.set(value, it.match);
  }
  return values;
}

/** Returns the value that counts wherever it stands; undefined where it counts only where it was found. */
export function countedValue({ match, view, value }: LocatedMatch): string | undefined {
  if (match.confidence === 'low' || !isToldByContext(match.detector)) return undefined;
  if (!view) return value;
  if (match.end - match.start < valueBytesMin) return undefined;
  const text = view.bytes.toString('latin1', match.start, match.end);
  return isWord(text) ? undefined : text;
}

/** Tells whether a value is a word or a name in code. Cutting it everywhere would leave nonsense. */
export const isWord = (value: string): boolean =>
  isIdentifier(value) || (/^[A-Za-z._-]+$/.test(value) && randomBits(value) < 0);

/**
 * Tells whether only a keyword or the context in the pattern reveals the value. Other values are found
 * wherever they stand, and so are those with the keyword within them, such as the `@` of a mail address.
 */
const isToldByContext = ({ class: dataClass, keywords, near, group, besideKeyword }: Match['detector']) =>
  (dataClass === 'SECRETS' || dataClass === 'PII') &&
  near.length + group + (besideKeyword ? 0 : keywords.length) > 0;

/** Creates a test whether a span lies within one of the matches of a text. */
export function insideAnyOf(
  found: readonly Pick<LocatedMatch, 'match'>[],
): (start: number, end: number) => boolean {
  const sorted = found.map(({ match }) => match).toSorted((a, b) => a.start - b.start);
  const starts = sorted.map((match) => match.start);
  const ends: number[] = [];
  for (const { end } of sorted) ends.push(Math.max(end, ends.at(-1) ?? 0));
  return (start, end) => (ends[lastAtOrBefore(starts, start)] ?? 0) >= end;
}
