import type { Bounds } from '../decode/budget.ts';
import { type Field, type FieldFormat, fieldPiecesOf, fieldsOf } from '../decode/fields.ts';
import { JoinedPieces } from '../decode/joined-pieces.ts';
import type { Span } from '../decode/span-map.ts';
import { decodeViews, type View } from '../decode/views.ts';
import { mayBeOfSeries, mayHoldSeries, seriesOf } from '../fingerprint/series.ts';
import type { DetectorEngine, Match, PartialSecret } from '../match/engine.ts';
import type { BoundaryMatch, Look, Placed } from '../match/placed.ts';
import { findContinued } from './continuations.ts';

/*
 * Finds a value cut into pieces that lie in several fields of one call. Two signs give it away: fields with numbered
 * names, and the beginning of a secret at the end of a field. Only then are pieces joined, decoded and searched. What
 * counts is a match across a boundary that no piece shows alone.
 */

export interface SplitSearch {
  readonly bytes: Buffer;
  /** Part without the escapes of its format. */
  readonly plain: Pick<View, 'bytes' | 'outline'>;
  readonly format: FieldFormat;
  /** Lists what the part shows by itself. */
  readonly found: readonly Placed<Match>[];
  readonly partialSecrets: readonly Placed<PartialSecret>[];
  /** Place up to which all was searched before; no field lies across it. */
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
  const { bytes, plain, format, partialSecrets, newFrom } = search;
  const mayCount = newFrom === 0 || mayBeOfSeries(bytes.subarray(newFrom), format);
  // JSON needs no outline here, and none was made of text that is not searched.
  const outline = format === 'json' ? undefined : plain.outline;
  const hasSeries = mayCount && mayHoldSeries(plain.bytes, format, outline);
  if (partialSecrets.length === 0 && !hasSeries) return [];
  // Pieces stand behind the beginning of their secret.
  const from = hasSeries || partialSecrets.some(({ start }) => start < newFrom) ? 0 : newFrom;
  const look: Look = (pieces) => (bounds.isOver() ? [] : findOverPieces(search, pieces, engine, bounds));
  const fieldLists = fieldsOf(bytes.subarray(from), format).map((fields) => placedFrom(from, fields));
  const continued =
    partialSecrets.length > 0 ? findContinuations(search, { fieldLists, from }, engine, look) : [];
  return [...continued, ...(from === 0 ? findInSeries(fieldLists.flatMap(seriesOf), look) : [])].flatMap(
    ({ match, spans }) => spans.map((span) => ({ match, ...span })),
  );
}

/** Finds what begins at the end of a field, or of a piece of a name. */
function findContinuations(
  { bytes, format, partialSecrets }: SplitSearch,
  { fieldLists, from }: { readonly fieldLists: readonly (readonly Field[])[]; readonly from: number },
  engine: DetectorEngine,
  look: Look,
): BoundaryMatch[] {
  const inValues = fieldLists.flatMap((fields) =>
    findContinued({ bytes, fields, partialSecrets }, engine, look),
  );
  const isInValue = (it: Span): boolean =>
    fieldLists.some((values) => values.some(({ start, end }) => start <= it.start && it.start < end));
  const inNames = partialSecrets.filter((it) => !isInValue(it));
  const fields = inNames.length > 0 ? placedFrom(from, fieldPiecesOf(bytes.subarray(from), format)) : [];
  return [...inValues, ...findContinued({ bytes, fields, partialSecrets: inNames }, engine, look)];
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

function findOverPieces(
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
      const isNew = match.confidence !== 'low' && spans.length > 1 && !isShown(search, match, spans);
      return isNew ? [{ match, spans }] : [];
    }),
  );
}

/**
 * Answers whether the pieces show it alone. Whole values of a list stand one behind another; but a secret whose first
 * piece is long enough to match is still cut to its end.
 */
function isShown({ found }: SplitSearch, { detector }: Match, spans: readonly Span[]): boolean {
  const isFound = (span: Span): boolean =>
    found.some((it) => it.match.confidence !== 'low' && it.start < span.end && span.start < it.end);
  return spans.some((span, index) => (index > 0 || detector.class !== 'SECRETS') && isFound(span));
}
