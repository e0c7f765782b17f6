import type { Bounds } from '../decode/budget.ts';
import { type Field, type FieldFormat, fieldPiecesOf, fieldsOf } from '../decode/fields.ts';
import { JoinedPieces } from '../decode/joined-pieces.ts';
import type { Span } from '../decode/span-map.ts';
import { decodeViews, type View } from '../decode/views.ts';
import {
  mayHoldSeries,
  type NumberedField,
  numberedFields,
  seriesOf,
  tellSeries,
} from '../fingerprint/series.ts';
import { seriesSigns } from '../kernel/series-signs.ts';
import type { DetectorEngine, Match, PartialSecret } from '../match/engine.ts';
import type { BoundaryMatch, Look, Placed } from '../match/placed.ts';
import { findContinued } from './continuations.ts';
import type { LocatedMatch } from './known-values.ts';

/*
 * Finds a value that was cut into pieces, which lie in several fields of one call. Two signs give it away:
 * fields with numbered names, and the beginning of a secret at the end of a field. Only then are pieces
 * joined, decoded and searched. What counts is a match across a boundary that no piece shows alone.
 */

export interface SplitSearch {
  readonly bytes: Buffer;
  /** The searched text of the part. */
  readonly searched: View;
  readonly format: FieldFormat;
  /** What the part shows by itself. */
  readonly found: readonly (Placed<Match> & Pick<LocatedMatch, 'isJoined'>)[];
  readonly partialSecrets: readonly Placed<PartialSecret>[];
  /** The place up to which all was searched before. No field lies across it. */
  readonly newFrom: number;
  /** What is known of the names of the fields before that place. */
  readonly earlier: NumberedNames;
}

/** What is known of the names in a text, by which series of fields are found. */
export interface NumberedNames {
  /** The fields with numbers; undefined where they were not looked for. */
  readonly fields: readonly NumberedField[] | undefined;
  /** The signs of numbered names in a JSON text; see `seriesSigns`. */
  readonly signs: number;
  /** The series whose pieces were joined and searched. */
  readonly searched: readonly Series[];
}

/** A series of fields, as a span from its first piece to its last; span and list are unique in a text. */
export interface Series extends Span {
  readonly list: number;
}

export interface SplitFound {
  readonly found: readonly Placed<Match>[];
  /** All fields of the part with numbers; undefined where they were not looked for. */
  readonly numbered: readonly NumberedField[] | undefined;
  /** The series that were searched now. */
  readonly series: readonly Series[];
}

/** Bounds on the series of pieces in one part of a call, and on the bytes of all of them. */
const seriesMax = 64;
const seriesBytesMax = 65_536;
const matchesMax = 32;

/** Finds values split over fields. Each match has a place for every piece. */
export function findSplit(
  search: SplitSearch,
  engine: DetectorEngine,
  bounds: Omit<Bounds, 'depthMax'>,
): SplitFound {
  const { bytes, format, partialSecrets, newFrom, earlier } = search;
  const hasSeries = maySearchSeries(search);
  if (partialSecrets.length === 0 && !hasSeries) return nothing;
  // Pieces stand behind the beginning of their secret.
  const isPieceKnown = partialSecrets.some(({ start }) => start < newFrom);
  const from = isPieceKnown || (hasSeries && !earlier.fields) ? 0 : newFrom;
  const look: Look = (pieces) => (bounds.isOver() ? [] : findOverPieces(search, pieces, engine, bounds));
  const fieldLists = fieldsOf(bytes.subarray(from), format).map((fields) => placedFrom(from, fields));
  const continued =
    partialSecrets.length > 0 ? findContinuations(search, { fieldLists, from }, engine, look) : [];
  const numbered = hasSeries ? allNumbered(earlier, numberedFields(fieldLists), from) : undefined;
  const inSeries = findInSeries(numbered ?? [], earlier.searched, look);
  const found = [...continued, ...inSeries.found].flatMap(({ match, spans }) =>
    spans.map((span) => ({ match, ...span })),
  );
  return { found, numbered, series: inSeries.series };
}

const nothing: SplitFound = { found: [], numbered: undefined, series: [] };

/** Returns the fields before `from`, which are known, and those behind it, list by list. */
function allNumbered(
  { fields }: NumberedNames,
  later: readonly NumberedField[],
  from: number,
): readonly NumberedField[] {
  if (from === 0 || !fields) return later;
  return [...fields, ...later].toSorted((one, other) => one.list - other.list);
}

/** How many bytes before a place a sign may begin. */
const signBytes = 8;

/** Returns the signs of numbered names that end between two places of a JSON text. */
export const signsBetween = (bytes: Buffer, from: number, to: number): number =>
  seriesSigns(bytes.subarray(Math.max(0, from - signBytes), to));

/** Tells whether there may be series with new fields. */
function maySearchSeries({ bytes, searched, format, newFrom, earlier }: SplitSearch): boolean {
  if (format !== 'json') return mayHoldSeries(searched.bytes, format, searched.outline);
  return tellSeries(earlier.signs | signsBetween(bytes, newFrom, bytes.length));
}

/** Finds what begins at the end of a field, or at the end of a piece of a name. */
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

/** Returns spans that were counted from `from`, counted from the start of the part. */
const placedFrom = <T extends Span>(from: number, fields: readonly T[]): readonly T[] =>
  from === 0 ? fields : fields.map((it) => ({ ...it, start: it.start + from, end: it.end + from }));

/**
 * Finds values split over fields that only their names connect. Series that were searched before are left
 * out.
 */
function findInSeries(
  numbered: readonly NumberedField[],
  searched: readonly Series[],
  look: Look,
): { readonly found: readonly BoundaryMatch[]; readonly series: readonly Series[] } {
  const keyOf = ({ list, start, end }: Series): string => `${list} ${start} ${end}`;
  const isSearched = new Set(searched.map(keyOf));
  const found: BoundaryMatch[] = [];
  const series: Series[] = [];
  let bytes = 0;
  for (const pieces of seriesOf(numbered).slice(0, seriesMax)) {
    for (const { start, end } of pieces) bytes += end - start;
    if (bytes > seriesBytesMax) break;
    const whole = wholeOf(pieces);
    if (isSearched.has(keyOf(whole))) continue;
    found.push(...look(pieces));
    series.push(whole);
  }
  return { found, series };
}

const wholeOf = (pieces: readonly NumberedField[]): Series => ({
  list: pieces[0]?.list ?? 0,
  start: pieces.reduce((first, { start }) => Math.min(first, start), Number.POSITIVE_INFINITY),
  end: pieces.reduce((last, { end }) => Math.max(last, end), 0),
});

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
 * Tells whether one of the pieces shows the match alone. Whole values of a list stand one behind another. A
 * secret whose first piece is long enough to match is still cut to its end.
 */
function isShown({ found }: SplitSearch, { detector }: Match, spans: readonly Span[]): boolean {
  const isFound = (span: Span): boolean =>
    found.some(
      (it) => !it.isJoined && it.match.confidence !== 'low' && it.start < span.end && span.start < it.end,
    );
  return spans.some((span, index) => (index > 0 || detector.class !== 'SECRETS') && isFound(span));
}
