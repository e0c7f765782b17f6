import type { Bounds } from '../decode/budget.ts';
import { type Field, type FieldFormat, fieldPiecesOf, fieldsOf } from '../decode/fields.ts';
import { JoinedPieces } from '../decode/joined-pieces.ts';
import type { Span } from '../decode/span-map.ts';
import { decodeViews, type View } from '../decode/views.ts';
import { mayBeOfSeries, mayHoldSeries, seriesOf } from '../fingerprint/series.ts';
import type { DetectorEngine, Match, PartialSecret } from '../match/engine.ts';
import type { BoundaryMatch, Look, Placed } from '../match/placed.ts';
import { findBegun } from './begun-secrets.ts';

/*
 * Finds a value cut into pieces that lie in several fields of one call. Two signs give it away: fields with numbered
 * names, and the beginning of a secret at the end of a field. Only then are pieces joined, decoded and searched. What
 * counts is a match across a boundary that no piece shows alone.
 */

export interface SplitSearch {
  readonly bytes: Buffer;
  /** Is the part without the escapes of its format. */
  readonly plain: Pick<View, 'bytes' | 'outline'>;
  readonly format: FieldFormat;
  /** Lists what the part shows by itself. */
  readonly found: readonly Placed<Match>[];
  readonly cutTokens: readonly Placed<PartialSecret>[];
  /** Is the place up to which all was searched before; no field lies across it. */
  readonly newFrom: number;
}

/** Limit the series of pieces in one part of a call, and the bytes of all of them. */
const seriesMax = 64;
const seriesBytesMax = 65_536;
const matchesMax = 32;

/** Finds values split over fields; each match has a place for every piece. */
export function findSplit(
  search: SplitSearch,
  engine: DetectorEngine,
  bounds: Omit<Bounds, 'depthMax'>,
): Placed<Match>[] {
  const { bytes, plain, format, cutTokens, newFrom } = search;
  const mayCount = newFrom === 0 || mayBeOfSeries(bytes.subarray(newFrom), format);
  // JSON needs no outline here, and none was made of text that is not searched.
  const outline = format === 'json' ? undefined : plain.outline;
  const hasSeries = mayCount && mayHoldSeries(plain.bytes, format, outline);
  if (cutTokens.length === 0 && !hasSeries) return [];
  // Pieces stand behind the beginning of their secret.
  const from = hasSeries || cutTokens.some(({ start }) => start < newFrom) ? 0 : newFrom;
  const look: Look = (pieces) => (bounds.isOver() ? [] : findAcross(search, pieces, engine, bounds));
  const fieldLists = fieldsOf(bytes.subarray(from), format).map((fields) => placedFrom(from, fields));
  const begun = cutTokens.length > 0 ? findCut(search, { fieldLists, from }, engine, look) : [];
  return [...begun, ...(from === 0 ? findInSeries(fieldLists.flatMap(seriesOf), look) : [])].flatMap(
    ({ match, spans }) => spans.map((span) => ({ match, ...span })),
  );
}

/** Finds what begins at the end of a field, or of a piece of a name. */
function findCut(
  { bytes, format, cutTokens }: SplitSearch,
  { fieldLists, from }: { readonly fieldLists: readonly (readonly Field[])[]; readonly from: number },
  engine: DetectorEngine,
  look: Look,
): BoundaryMatch[] {
  const inValues = fieldLists.flatMap((fields) => findBegun({ bytes, fields, cutTokens }, engine, look));
  const isInValue = (it: Span): boolean =>
    fieldLists.some((values) => values.some(({ start, end }) => start <= it.start && it.start < end));
  const inNames = cutTokens.filter((it) => !isInValue(it));
  const fields = inNames.length > 0 ? placedFrom(from, fieldPiecesOf(bytes.subarray(from), format)) : [];
  return [...inValues, ...findBegun({ bytes, fields, cutTokens: inNames }, engine, look)];
}

/** Shifts spans that were counted from `from`. */
const placedFrom = <T extends Span>(from: number, fields: readonly T[]): readonly T[] =>
  from === 0 ? fields : fields.map((it) => ({ ...it, start: it.start + from, end: it.end + from }));

/** Finds values split over fields whose names alone say that they belong together. */
function findInSeries(series: readonly (readonly Field[])[], look: Look): BoundaryMatch[] {
  const found: BoundaryMatch[] = [];
  let bytes = 0;
  for (const pieces of series.slice(0, seriesMax)) {
    for (const { start, end } of pieces) bytes += end - start;
    if (bytes > seriesBytesMax) break;
    found.push(...look(pieces));
  }
  return found;
}

function findAcross(
  search: SplitSearch,
  pieces: readonly Span[],
  engine: DetectorEngine,
  bounds: Omit<Bounds, 'depthMax'>,
): BoundaryMatch[] {
  const joined = new JoinedPieces(search.bytes, pieces);
  const { views } = decodeViews(joined.bytes, { ...bounds, depthMax: 2, isForm: search.format === 'form' });
  return views.flatMap((view) =>
    engine.find(view.bytes, { ...bounds, matchesMax }, view.outline).matches.flatMap((match) => {
      const { start, end } = view.toSource(match.start, match.end);
      const spans = joined.toSource(start, end);
      const isNew = match.confidence !== 'low' && spans.length > 1 && !isSeen(search, match, spans);
      return isNew ? [{ match, spans }] : [];
    }),
  );
}

/**
 * Answers whether the pieces show it alone. Whole values of a list stand one behind another; but a secret whose first
 * piece is long enough to match is still cut to its end.
 */
function isSeen({ found }: SplitSearch, { detector }: Match, spans: readonly Span[]): boolean {
  const isFound = (span: Span): boolean =>
    found.some((it) => it.match.confidence !== 'low' && it.start < span.end && span.start < it.end);
  return spans.some((span, index) => (index > 0 || detector.class !== 'SECRETS') && isFound(span));
}
