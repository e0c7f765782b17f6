import { kept } from '../../util/kept.ts';
import { separator } from '../decode/separator.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import type { NumberedField } from '../fingerprint/series.ts';
import type { DetectorEngine, PartialSecret } from '../match/engine.ts';
import type { FarReaching } from '../match/far-reaching.ts';
import { createMatcher, type Matcher } from '../match/matcher.ts';
import { type Placed, unseen } from '../match/placed.ts';
import { countedValue, isWord, type LocatedMatch } from '../split/known-values.ts';
import { type SplitFound, signsBetween } from '../split/split-values.ts';
import {
  againBytes,
  type Beginning,
  type KnownBeginning,
  type Lists,
  type Remembered,
  segmentsTo,
  settledBytes,
} from './known-beginning.ts';
import type { Segment } from './segment-memory.ts';

/*
 * Remembers what bodies show, for those that begin alike; see `known-beginning.ts`. What is found counts from
 * the first checkpoint behind it that new bytes cannot reach any more.
 */

const none: readonly never[] = Object.freeze([]);
/** How many of the first bytes that are read again serve only as context for what follows. */
const contextBytes = 1024;

/** What reading from a place on has shown. */
interface Shown extends Pick<Remembered, Lists> {
  /** Stretches whose end cannot be judged without their beginning. */
  readonly across: readonly Span[];
  /** The searched texts; `decoded` has those of them that are decoded forms. */
  readonly views: readonly View[];
  readonly decoded: readonly View[];
  readonly split: SplitFound;
}

/** Remembers what a body shows, which must have been read to its end. */
export function rememberBeginning(
  bytes: Buffer,
  { by, checkpoints }: Beginning,
  known: KnownBeginning,
  engine: DetectorEngine,
  shown: Shown,
): void {
  const start = known.last?.content.end ?? 0;
  const later = checkpoints.filter(({ end }) => end > start);
  if (later.length === 0) {
    if (known.last) by.memory.segments.keep(by.tenantId, known.last);
    return;
  }
  const ends = later.map(({ end }) => end);
  const groups = groupsOf(bytes, known, shown, ends);
  const fieldsBetween = fieldsIn(shown.split.numbered);
  const isOpen = openAt(ends, [
    ...[...shown.found, ...shown.knownValueMatches, ...shown.hints, ...shown.partialSecrets, ...shown.opaque],
    ...[...shown.across, ...groups.allPieces, ...shown.views.flatMap((view) => farReachingIn(view, engine))],
  ]);
  const last = later.reduce<Segment<Remembered> | undefined>(
    (before, { end, key }, at) => {
      const content: Remembered = {
        end,
        isResumable: end > againBytes && !isOpen(at),
        found: [...(at === 0 ? groups.late : none), ...(groups.found.get(at) ?? none)].map(withoutView),
        knownValueMatches: (groups.knownValueMatches.get(at) ?? none).map(withoutView),
        hints: (groups.hints.get(at) ?? none).map(withoutView),
        partialSecrets: (groups.partialSecrets.get(at) ?? none).map(withoutText),
        opaque: groups.opaque.get(at) ?? none,
        wordEnds: groups.wordEnds.get(at) ?? none,
        names: {
          fields: fieldsBetween(ends[at - 1] ?? start, end),
          signs: signsBetween(bytes, ends[at - 1] ?? start, end),
          searched: [...(at === 0 ? groups.lateSeries : none), ...(groups.series.get(at) ?? none)],
        },
        decoded: joined(groups.pieces.get(at) ?? none),
      };
      return { key, content, size: sizeOf(content), before };
    },
    known.names.fields || !shown.split.numbered ? known.last : withFields(known.last, fieldsBetween),
  );
  if (last) by.memory.segments.keep(by.tenantId, last);
}

/**
 * Joins decoded forms with separators, in memory of their own. What Node joins by itself is cut out of a
 * block of 64 KB, which stays as long as any part of it.
 */
function joined(pieces: readonly Pick<View, 'bytes'>[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(
    pieces.reduce((length, piece) => length + piece.bytes.length + separator.length, 0),
  );
  let at = 0;
  for (const piece of pieces) {
    at += piece.bytes.copy(bytes, at);
    at += separator.copy(bytes, at);
  }
  return bytes;
}

/**
 * Groups what was shown by the index of the checkpoint at which it becomes final. `ends` has the ends of the
 * checkpoints.
 */
function groupsOf(bytes: Buffer, known: KnownBeginning, shown: Shown, ends: readonly number[]) {
  const { settledTo: settledFrom } = known;
  /**
   * Groups spans by the index of the checkpoint at which they become final. Leaves out those that were final
   * before.
   */
  const grouped = <T extends Span>(
    all: readonly T[],
    endOf: (it: T) => number = endOfSpan,
  ): ReadonlyMap<number, readonly T[]> =>
    Map.groupBy(
      all.filter((it) => endOf(it) > settledFrom),
      (it) => lastAtOrBefore(ends, endOf(it) + settledBytes - 1) + 1,
    );
  const pieces = shown.decoded.flatMap(piecesOf);
  const endOf = lastEnds(shown.found);
  // New bytes may tell that pieces in what is known belong together.
  const isLate = <T extends Span>(it: T, end = it.end): boolean => end <= settledFrom;
  const late = unseen(
    shown.found.filter((it) => isLate(it, endOf(it))),
    known.found,
  );
  const lateSeries = shown.split.series.filter((it) => isLate(it));
  return {
    late,
    lateSeries,
    found: grouped(shown.found, endOf),
    knownValueMatches: grouped(shown.knownValueMatches),
    hints: grouped(shown.hints),
    partialSecrets: grouped(shown.partialSecrets.filter((it) => !isOfWords(bytes, it))),
    opaque: grouped(shown.opaque),
    wordEnds: grouped(shown.wordEnds),
    series: grouped(shown.split.series),
    pieces: grouped(pieces),
    allPieces: pieces,
  };
}

const endOfSpan = ({ end }: Span): number => end;

/**
 * Returns a function that gives the end of a match's last place. The first places of a match that was joined
 * from pieces may lie in what was known before.
 */
function lastEnds(found: readonly LocatedMatch[]): (it: LocatedMatch) => number {
  const ends = new Map<LocatedMatch['match'], number>();
  for (const { match, end } of found) ends.set(match, Math.max(end, ends.get(match) ?? 0));
  return ({ match, end }) => ends.get(match) ?? end;
}

/**
 * Returns a function that gives the fields that end between two places. It gives undefined if no fields were
 * looked for.
 */
function fieldsIn(numbered: readonly NumberedField[] | undefined) {
  const inOrder = numbered?.toSorted((one, other) => one.end - other.end);
  const ends = inOrder?.map(({ end }) => end) ?? [];
  return (after: number, to: number): readonly NumberedField[] | undefined =>
    inOrder?.slice(lastAtOrBefore(ends, after) + 1, lastAtOrBefore(ends, to) + 1);
}

/** Returns the segments with fields that nobody had looked for when the segments were made. */
function withFields(
  last: Segment<Remembered> | undefined,
  fieldsBetween: ReturnType<typeof fieldsIn>,
): Segment<Remembered> | undefined {
  return segmentsTo(last).reduce<Segment<Remembered> | undefined>((before, { key, content }) => {
    const fields = fieldsBetween(before?.content.end ?? 0, content.end);
    const filled = { ...content, names: { ...content.names, fields } };
    return { key, content: filled, size: sizeOf(filled), before };
  }, undefined);
}

/**
 * Creates a test for the index of a checkpoint. It tells whether a span lies across the place where reading
 * would resume, so that its end could not be judged. `ends` has the ends of the checkpoints.
 */
function openAt(ends: readonly number[], spans: readonly Span[]): (checkpoint: number) => boolean {
  const steps = new Int32Array(ends.length + 1);
  for (const { start, end } of spans) {
    const first = lastAtOrBefore(ends, start + againBytes - contextBytes) + 1;
    const behind = lastAtOrBefore(ends, end + settledBytes - 1) + 1;
    if (first >= behind) continue;
    steps[first] = (steps[first] as number) + 1;
    steps[behind] = (steps[behind] as number) - 1;
  }
  for (let at = 1; at < steps.length; at++) steps[at] = (steps[at] as number) + (steps[at - 1] as number);
  return (checkpoint) => (steps[checkpoint] as number) > 0;
}

interface Piece extends Span {
  readonly bytes: Buffer;
}

const pieceBytes = 1024;
/** How many bytes two pieces share, so that no word of a policy is cut in two. */
const overlapBytes = 128;

/** Cuts a decoded text into pieces with their places in the body. */
function piecesOf({ bytes, toSource }: View): Piece[] {
  const pieces: Piece[] = [];
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(separator, from);
    const valueEnd = found < 0 ? bytes.length : found;
    for (let at = from; at < valueEnd; at += pieceBytes) {
      const to = Math.min(valueEnd, at + pieceBytes + overlapBytes);
      pieces.push({ bytes: bytes.subarray(at, to), ...toSource(at, to) });
    }
    from = valueEnd + separator.length;
  }
  return pieces;
}

/** Bound on the places of one word. Behind a word with more places reading does not resume. */
const placesMax = 64;

/** The matcher of each engine's far-reaching words. */
const farMatchers = new WeakMap<DetectorEngine, Matcher>();

/**
 * Returns the places of words whose matches may end far behind them. Each is as long as the word's longest
 * match.
 */
function farReachingIn({ bytes, toSource }: View, engine: DetectorEngine): Span[] {
  const { farReaching } = engine;
  const matcher = kept(farMatchers, engine, () => createMatcher(farReaching.map(({ word }) => word)));
  const counts = farReaching.map(() => 0);
  const spans: Span[] = [];
  matcher.scan(bytes, (index, at) => {
    const { word, reach } = farReaching[index] as FarReaching;
    const before = counts[index] as number;
    counts[index] = before + 1;
    if (before > placesMax) return;
    const { start, end } = toSource(at, at + word.length);
    spans.push({ start, end: before === placesMax ? Number.MAX_SAFE_INTEGER : end + reach });
  });
  return spans;
}

/**
 * Returns a match without its view, which would keep the whole body in memory. The value is kept even of a
 * hint, which may gain confidence beside something new.
 */
const withoutView = (it: LocatedMatch): LocatedMatch => ({
  ...it,
  view: undefined,
  value: countedValue({ ...it, match: { ...it.match, confidence: 'high' } }),
});

const withoutText = ({ match, start, end }: Placed<PartialSecret>): Placed<PartialSecret> => ({
  match,
  start,
  end,
});

/**
 * Tells whether the beginning of a token is only words, such as `path` or `user:key`. Its continuation is
 * then not awaited.
 */
const isOfWords = (bytes: Buffer, { start, end }: Span): boolean =>
  isWord(bytes.toString('latin1', start, end).replaceAll(':', '-'));

const placedBytes = 240;
const segmentBytes = 320;
const numberedBytes = 80;

const sizeOf = ({
  found,
  knownValueMatches,
  hints,
  partialSecrets,
  opaque,
  wordEnds,
  names,
  decoded,
}: Remembered): number =>
  segmentBytes +
  (names.fields ?? none).reduce((sum, { stem }) => sum + numberedBytes + stem.length, 0) +
  placedBytes * (found.length + knownValueMatches.length + hints.length + partialSecrets.length) +
  placedBytes * (opaque.length + wordEnds.length + names.searched.length) +
  decoded.length;
