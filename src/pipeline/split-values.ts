import { type CutToken, type DetectorEngine, looksRandom, type Match } from '../detectors/engine.ts';
import type { Bounds } from '../text/budget.ts';
import { type Field, type FieldFormat, fieldsOf } from '../text/fields.ts';
import { JoinedPieces } from '../text/joined-pieces.ts';
import { mayHoldSeries, seriesOf } from '../text/series.ts';
import type { Span } from '../text/span-map.ts';
import { decodeViews } from '../text/views.ts';

/*
 * A value cut in pieces that lie in several fields of one call. Two things give it away: fields with numbered names, and the beginning of
 * a secret at the end of a field. Only then is the text taken apart; the pieces are put together, decoded and searched like any
 * other text, and what counts is what lies across a seam and is seen in no piece alone.
 */

/** A match with its place in the bytes of its part. */
export interface Placed<T> extends Span {
  readonly match: T;
  /** Of what earlier calls have begun. */
  readonly isRest?: true;
}

export interface SplitSearch {
  readonly bytes: Buffer;
  readonly format: FieldFormat;
  /** What the part shows by itself. */
  readonly found: readonly Placed<Match>[];
  readonly cutTokens: readonly Placed<CutToken>[];
}

/** That are put together in one part of a call, and the bytes of all of them. */
const chainsMax = 64;
const joinedBytesMax = 65_536;
/** Of a secret whose pieces have unrelated names. */
const neighboursMax = 8;
const matchesMax = 32;

/** Fields that may hold the pieces of one value, in their order. */
interface Chain {
  readonly pieces: readonly Field[];
  /** Whose beginning the first piece has; undefined where names alone say that they belong together. */
  readonly detector: Match['detector'] | undefined;
}

/** What was split over fields: of each match a place for every piece. */
export function findSplit(
  search: SplitSearch,
  engine: DetectorEngine,
  bounds: Omit<Bounds, 'depthMax'>,
): Placed<Match>[] {
  const { bytes, format, cutTokens } = search;
  if (cutTokens.length === 0 && !mayHoldSeries(bytes, format)) return [];
  const placed: Placed<Match>[] = [];
  let joinedBytes = 0;
  for (const { pieces, detector } of chainsOf(search).slice(0, chainsMax)) {
    const joined = new JoinedPieces(bytes, pieces);
    joinedBytes += joined.bytes.length;
    if (joinedBytes > joinedBytesMax || bounds.isOver()) break;
    const { views } = decodeViews(joined.bytes, { ...bounds, depthMax: 2, isForm: format === 'form' });
    for (const view of views) {
      for (const match of engine.find(view.bytes, { ...bounds, matchesMax }, view.outline).matches) {
        const span = view.toSource(match.start, match.end);
        const spans = joined.toSource(span.start, span.end);
        if (match.confidence === 'low' || spans.length < 2 || isSeen(search, match, spans)) continue;
        const isWhole = detector === undefined || (match.detector === detector && isSliced(bytes, spans));
        if (isWhole) placed.push(...spans.map((it) => ({ match, ...it })));
      }
    }
  }
  return placed;
}

function chainsOf({ bytes, format, cutTokens }: SplitSearch): Chain[] {
  const chains: Chain[] = [];
  for (const fields of fieldsOf(bytes, format)) {
    chains.push(...seriesOf(fields).map((pieces) => ({ pieces, detector: undefined })));
    for (const { match, start, end } of cutTokens) {
      const at = fields.findIndex((it) => it.start <= start && it.end === end);
      const first = fields[at];
      if (!first) continue;
      const behind = fields.slice(at + 1);
      const alike = behind.filter(({ name }) => name === first.name);
      for (const others of [alike, behind])
        chains.push({ pieces: [first, ...others.slice(0, neighboursMax - 1)], detector: match.detector });
    }
  }
  return chains;
}

/**
 * Whether the pieces tell it already. Two values that are whole stand behind one another in any list; a secret whose first piece is long
 * enough to be one is cut to its end all the same.
 */
function isSeen({ found }: SplitSearch, { detector }: Match, spans: readonly Span[]): boolean {
  const isFound = (span: Span): boolean =>
    found.some((it) => it.match.confidence !== 'low' && it.start < span.end && span.start < it.end);
  return spans.some((span, index) => (index > 0 || detector.class !== 'SECRETS') && isFound(span));
}

/** Pieces of something random: names and words that happen to stand behind the beginning of a token are none. */
function isSliced(bytes: Buffer, spans: readonly Span[]): boolean {
  return spans.slice(1).every(({ start, end }) => looksRandom(bytes.toString('latin1', start, end)));
}
