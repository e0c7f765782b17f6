import type { Match } from '../detectors/engine.ts';
import { standsAlone } from '../detectors/token-start.ts';
import { lastAtOrBefore, type Span } from '../text/span-map.ts';
import type { View } from '../text/views.ts';
import type { Placed } from './split-values.ts';

/*
 * A password that is told by the word before it may stand again where no such word is. Once it is known, each place of it counts, in
 * every form of the text: else redaction would cut the one and send the other.
 */

/** A match, and the form of the text that it was found in; none where its pieces were put together. */
export interface Seen extends Placed<Match> {
  readonly view: View | undefined;
}

/** Shorter values are in many words and numbers. */
const valueBytesMin = 8;

/** The places of found secrets and personal data where no detector saw them; at most `max`, and none once the time is over. */
export function findRepeats(
  found: readonly Seen[],
  views: readonly View[],
  { max, isOver }: { readonly max: number; readonly isOver: () => boolean },
): Seen[] {
  if (found.length === 0) return [];
  const values = valuesOf(found);
  if (values.size === 0) return [];
  const finder = new ValueFinder(values);
  const repeats: Seen[] = [];
  for (const view of views) {
    const isCovered = coverOf(found.filter((it) => it.view === view));
    for (const { match, start, end } of finder.find(view.bytes, isOver)) {
      if (isCovered(start, end)) continue;
      if (match.detector.class !== 'SECRETS' && !standsAlone(view.bytes, start, end)) continue;
      repeats.push({ match, view, ...view.toSource(start, end) });
      if (repeats.length >= max) return repeats;
    }
  }
  return repeats;
}

/** Of a value, by which it is looked for. */
const startBytes = 4;
const slotBits = 16;
/** The golden ratio in 32 bits, which spreads what differs little (Knuth, TAOCP 6.4). */
const multiplier = 0x9e3779b1;
const bytesPerQuestion = 1 << 16;

/** Finds many values in one pass: a table may have a thousand passwords, and to look for each takes a thousand passes. */
class ValueFinder {
  readonly #values: ReadonlyMap<string, Match>;
  /** Of what begins with the same bytes, the longest first. */
  readonly #lengthsOf = new Map<number, number[]>();
  readonly #mayStart = new Uint8Array(1 << slotBits);

  constructor(values: ReadonlyMap<string, Match>) {
    this.#values = values;
    for (const value of values.keys()) {
      const start = Buffer.from(value.slice(0, startBytes), 'latin1').readInt32LE();
      this.#mayStart[slotOf(start)] = 1;
      const lengths = this.#lengthsOf.get(start) ?? [];
      if (!lengths.includes(value.length)) lengths.push(value.length);
      this.#lengthsOf.set(start, lengths);
    }
    for (const lengths of this.#lengthsOf.values()) lengths.sort((a, b) => b - a);
  }

  /** From left to right, none within another one and none over itself; it ends once `isOver`. */
  *find(bytes: Buffer, isOver: () => boolean): Iterable<Span & { readonly match: Match }> {
    let start = 0;
    let last: { readonly match: Match; readonly end: number } | undefined;
    for (let at = 0; at < bytes.length; at += 1) {
      if (at % bytesPerQuestion === 0 && isOver()) return;
      start = (start >>> 8) | ((bytes[at] as number) << 24);
      if (this.#mayStart[slotOf(start)] === 0) continue;
      const from = at - startBytes + 1;
      for (const length of this.#lengthsOf.get(start) ?? []) {
        const end = from + length;
        if (last && end <= last.end) break;
        const match = this.#values.get(bytes.toString('latin1', from, end));
        if (!match || (last && match === last.match && from < last.end)) continue;
        last = { match, end };
        yield { match, start: from, end };
        break;
      }
    }
  }
}

const slotOf = (start: number): number => Math.imul(start, multiplier) >>> (32 - slotBits);

/** What counts of the found values, byte for byte, and the match that says what it is. */
function valuesOf(found: readonly Seen[]): Map<string, Match> {
  const values = new Map<string, Match>();
  for (const { match, view } of found) {
    if (!view || match.confidence === 'low' || !isToldByContext(match.detector)) continue;
    if (match.end - match.start < valueBytesMin) continue;
    const value = view.bytes.toString('latin1', match.start, match.end);
    if (!values.has(value)) values.set(value, match);
  }
  return values;
}

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
