import type { DataClass } from '../../core/call.ts';
import { isIdentifier } from '../checks/plain-values.ts';
import { randomBits } from '../checks/randomness.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import type { Match } from '../match/engine.ts';
import type { Placed } from '../match/placed.ts';
import { standsAlone } from '../match/token-start.ts';

/*
 * A password that is told by the word before it may stand again where no such word is. Once it is known, each place of it counts, in
 * every form of the text: else redaction would cut the one and send the other.
 */

/** A match, and the form of the text that it was found in; none where its pieces were put together. */
export interface Seen extends Placed<Match> {
  readonly view: View | undefined;
  /** In place of the view, where that is not kept: what counts of it wherever it stands. */
  readonly value?: string | undefined;
}

interface RepeatLimits {
  readonly max: number;
  readonly isOver: () => boolean;
  readonly uncounted: Set<DataClass>;
}

/** Shorter values are in many words and numbers. */
const valueBytesMin = 8;

/**
 * The places of found secrets and personal data where no detector saw them; at most `max` of each class, and none once the time is over.
 * Classes that have more join `uncounted`.
 */
export function findRepeats(
  found: readonly Seen[],
  views: readonly Pick<View, 'bytes' | 'toSource'>[],
  { max, isOver, uncounted }: RepeatLimits,
): Seen[] {
  if (found.length === 0) return [];
  const values = valuesOf(found);
  if (values.size === 0) return [];
  const counts = new Map<DataClass, number>();
  const finder = new ValueFinder(values);
  const repeats: Seen[] = [];
  try {
    for (const view of views) {
      const isCovered = coverOf(found.filter((it) => it.view === view));
      const isWanted = ({ detector }: Match, start: number, end: number): boolean =>
        !uncounted.has(detector.class) &&
        !isCovered(start, end) &&
        (detector.class === 'SECRETS' || standsAlone(view.bytes, start, end));
      for (const { match, start, end } of finder.find(view.bytes, isWanted, isOver)) {
        const { class: dataClass } = match.detector;
        const count = (counts.get(dataClass) ?? 0) + 1;
        counts.set(dataClass, count);
        if (count > max) uncounted.add(dataClass);
        else repeats.push({ match, view: undefined, ...view.toSource(start, end) });
      }
    }
    return repeats;
  } finally {
    finder.forget();
  }
}

/** Of a value, by which it is looked for. */
const startBytes = 4;
const slotBits = 16;
/** The golden ratio in 32 bits, which spreads what differs little (Knuth, TAOCP 6.4). */
const multiplier = 0x9e3779b1;
const stepsPerQuestion = 1 << 14;
/** Of values that begin alike; those of more lengths are looked for one by one. */
const lengthsMax = 8;
/** To look for a few values one by one takes less time than one pass for many. */
const fewValues = 6;
/** Of a text every fourth place is looked at: one of them is among the first four of any value. */
const stride = 4;

/** Values that begin with the same bytes and are as long. */
interface Alike {
  readonly length: number;
  /** Their last bytes, which are compared before all of them. */
  readonly ends: Set<number>;
}

type Counts = (match: Match, start: number, end: number) => boolean;
type Place = Span & { readonly match: Match };

/** Of the values that are looked for at the moment: a bit for each of their first four places that such bytes stand at. */
const mayHold = new Uint8Array(1 << slotBits);

/** Finds many values in one pass: a table may have a thousand passwords, and to look for each takes a thousand passes. */
class ValueFinder {
  readonly #values: ReadonlyMap<string, Match>;
  /** By their first bytes, the longest first. */
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

  /** To be called before the next one is made. */
  forget(): void {
    if (this.#alike.size > 0) mayHold.fill(0);
  }

  /** The places that count, none of a value over itself; it ends once `isOver`. */
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

  /** From left to right, none within another one. */
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

/** To compare a value takes as long as so many bytes. */
const stepsOfValue = 128;
const none: readonly never[] = Object.freeze([]);
const slotOf = (start: number): number => Math.imul(start, multiplier) >>> (32 - slotBits);

/** What counts of the found values, byte for byte, and the match that says what it is. */
function valuesOf(found: readonly Seen[]): Map<string, Match> {
  const values = new Map<string, Match>();
  for (const it of found) {
    const value = countedValue(it);
    if (value !== undefined && !values.has(value)) values.set(value, it.match);
  }
  return values;
}

/** The value that counts wherever it stands; undefined where it counts only where it was found. */
export function countedValue({ match, view, value }: Seen): string | undefined {
  if (match.confidence === 'low' || !isToldByContext(match.detector)) return undefined;
  if (!view) return value;
  if (match.end - match.start < valueBytesMin) return undefined;
  const text = view.bytes.toString('latin1', match.start, match.end);
  return isWord(text) ? undefined : text;
}

/** A word, or a name of code, stands in a text for what it means: to cut it everywhere would leave nonsense. */
export const isWord = (value: string): boolean =>
  isIdentifier(value) || (/^[A-Za-z._-]+$/.test(value) && randomBits(value) < 0);

/** By a keyword, or by what the pattern has before its group. What shows itself is seen wherever it stands. */
const isToldByContext = ({ class: dataClass, keywords, near, group }: Match['detector']): boolean =>
  (dataClass === 'SECRETS' || dataClass === 'PII') && keywords.length + near.length + group > 0;

/** Whether a span lies within one of the matches of a text. */
function coverOf(found: readonly Seen[]): (start: number, end: number) => boolean {
  const sorted = found.map(({ match }) => match).toSorted((a, b) => a.start - b.start);
  const starts = sorted.map((match) => match.start);
  const ends: number[] = [];
  for (const { end } of sorted) ends.push(Math.max(end, ends.at(-1) ?? 0));
  return (start, end) => (ends[lastAtOrBefore(starts, start)] ?? 0) >= end;
}
