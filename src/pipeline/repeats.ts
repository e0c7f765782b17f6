import type { Match } from '../detectors/engine.ts';
import { standsAlone } from '../detectors/token-start.ts';
import { lastAtOrBefore } from '../text/span-map.ts';
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
  const repeats: Seen[] = [];
  for (const view of views) {
    const isCovered = coverOf(found.filter((it) => it.view === view));
    for (const [value, match] of values) {
      if (isOver()) return repeats;
      const length = value.length;
      for (
        let at = view.bytes.indexOf(value, 0, 'latin1');
        at >= 0;
        at = view.bytes.indexOf(value, at + length, 'latin1')
      ) {
        if (isCovered(at, at + length)) continue;
        if (match.detector.class !== 'SECRETS' && !standsAlone(view.bytes, at, at + length)) continue;
        repeats.push({ match, view, ...view.toSource(at, at + length) });
        if (repeats.length >= max) return repeats;
      }
    }
  }
  return repeats;
}

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
