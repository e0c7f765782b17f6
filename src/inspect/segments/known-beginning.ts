import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { kept } from '../../util/kept.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { OpaqueContent } from '../decode/packed/opaque.ts';
import { separator } from '../decode/separator.ts';
import { lastAtOrBefore, type Span } from '../decode/span-map.ts';
import type { View } from '../decode/views.ts';
import type { NumberedField } from '../fingerprint/series.ts';
import { type DetectorEngine, type PartialSecret, reachMax } from '../match/engine.ts';
import { weighHints } from '../match/evidence.ts';
import type { FarReaching } from '../match/far-reaching.ts';
import { createMatcher, type Matcher } from '../match/matcher.ts';
import type { Placed } from '../match/placed.ts';
import { countedValue, isWord, type LocatedMatch } from '../split/known-values.ts';
import { type NumberedNames, signsBetween } from '../split/split-values.ts';
import type { Checkpoint } from './checkpoints.ts';
import { LastBodies } from './last-bodies.ts';
import { type Segment, SegmentMemory } from './segment-memory.ts';

/*
 * Recognises beginnings of bodies: a conversation is sent as a whole with every turn. Where a body begins with the
 * bytes of an earlier one of the same tenant, read with the same detectors, its findings are known. Reading then
 * begins shortly before the first new byte.
 *
 * Nothing can hide behind a known beginning. Everything before a place is in the key of that place. What ends so
 * close to it that new bytes could change its meaning is read again, with as much before it as any detector looks at.
 * Where something reaches farther (a long value, a key with lines as list items, a table), reading does not resume.
 */

/** Holds what a beginning shows between two checkpoints. The places are the same in all bodies that begin so. */
interface Remembered {
  /** End of the checkpoint. */
  readonly end: number;
  /** Says that reading may begin at this checkpoint. */
  readonly isResumable: boolean;
  readonly found: readonly LocatedMatch[];
  /** Lists places found because the same value was found elsewhere. */
  readonly knownValueMatches: readonly LocatedMatch[];
  readonly hints: readonly LocatedMatch[];
  readonly partialSecrets: readonly Placed<PartialSecret>[];
  readonly opaque: readonly OpaqueContent[];
  /** Lists words of rules that stand there for the first time. */
  readonly wordEnds: readonly WordEnd[];
  /** Describes the fields between this checkpoint and the one before. */
  readonly names: NumberedNames;
  /** Holds the decoded forms, joined with separators. */
  readonly decoded: Buffer;
}

/** Tells where a word of the rules, given by its index, first ends in the body. */
export interface WordEnd extends Span {
  readonly word: number;
}

export interface BeginningMemory {
  /** Holds digests of how bodies began. Most are no conversation, and one that comes alone is not worth remembering. */
  readonly begun: RecentMap<string, true>;
  readonly segments: SegmentMemory<Remembered>;
  readonly lastBodies: LastBodies;
}

/** Says which memory holds the beginnings, and for which tenant. */
export interface KnownBy {
  readonly memory: BeginningMemory;
  readonly tenantId: string;
}

const megabyte = 1024 * 1024;
/** A megabyte of conversation takes 20 to 50 KB. */
const memoryBytesMax = 32 * megabyte;
const tenantShare = 0.25;
const lastBodies = { countMax: 64, bytesMax: 16 * megabyte };
const begunMax = 4096;
/** Bodies that are alike so far count as the same conversation. */
const begunBytes = 4096;
/** Smaller bodies are read faster than they are looked up. */
const bodyBytesMin = 8192;
/** Distance behind a value within which a word may still change its meaning. */
const settledBytes = 1536;
/** Bytes that are read again before a checkpoint. */
const againBytes = settledBytes + reachMax;
/** First part of what is read again; it serves only as context for what follows. */
const contextBytes = 1024;

export const createBeginningMemory = (): BeginningMemory => ({
  begun: new RecentMap(begunMax),
  segments: new SegmentMemory({ bytesMax: memoryBytesMax, tenantShare }),
  lastBodies: new LastBodies(lastBodies),
});

/** Describes a body whose beginning may be known. */
export interface Beginning {
  readonly by: KnownBy;
  readonly checkpoints: readonly Checkpoint[];
  readonly known: KnownBeginning;
}

export interface KnownBeginning extends Pick<Remembered, Lists | 'names'> {
  readonly last: Segment<Remembered> | undefined;
  /** Start of reading; undefined where nothing is known. */
  readonly from: number | undefined;
  /** Place up to which findings are final. */
  readonly settledTo: number;
  /** First place where a new byte may stand. */
  readonly newFrom: number;
  readonly decoded: readonly Buffer[];
}

const none: readonly never[] = Object.freeze([]);

export const nothingKnown: KnownBeginning = {
  ...{ from: undefined, settledTo: -1, newFrom: 0, last: undefined },
  ...{
    found: none,
    knownValueMatches: none,
    hints: none,
    partialSecrets: none,
    opaque: none,
    wordEnds: none,
    names: { fields: none, signs: 0 },
    decoded: none,
  },
};

/** Numbers engines and word lists: bodies that were read with others share no keys. */
const ids = new WeakMap<DetectorEngine | readonly string[], number>();
let lastId = 0;

const idOf = (lookedFor: DetectorEngine | readonly string[]): number =>
  kept(ids, lookedFor, () => {
    lastId += 1;
    return lastId;
  });

/** Looks up the longest known beginning of a JSON body. The first body that begins so is read and not remembered. */
export function beginningOf(
  { bytes, words = none }: { readonly bytes: Buffer; readonly words?: readonly string[] | undefined },
  engine: DetectorEngine,
  by: KnownBy,
): Beginning | undefined {
  // Such a body is not read unescaped, so its beginning would not be comparable.
  if (bytes.length < bodyBytesMin || !isUtf8(bytes) || bytes.includes(0)) return undefined;
  const { begun, segments, lastBodies } = by.memory;
  const seed = `${idOf(engine)}:${idOf(words)}:`;
  const start = `${seed}${by.tenantId}:${bytes.toString('latin1', 0, begunBytes)}`;
  const digest = hash('sha256', start, 'base64');
  const isFirst = !begun.has(digest);
  begun.set(digest, true);
  if (isFirst) return undefined;
  const checkpoints = lastBodies.checkpointsOf(bytes, seed, by.tenantId);
  for (let at = checkpoints.length - 1; at >= 0; at--) {
    const { key } = checkpoints[at] as Checkpoint;
    const segment = segments.get(by.tenantId, key);
    if (!segment?.content.isResumable) continue;
    const from = startBefore(bytes, segment.content.end - againBytes);
    if (from !== undefined) return { by, checkpoints, known: allOf(segment, from) };
  }
  return { by, checkpoints, known: nothingKnown };
}

/** More bytes than any escape, except a line end with its indentation. */
const escapeBytes = 12;
const stepsMax = 1024;

/** Returns a place before `at` where neither a character nor an escape is cut; undefined where there is none. */
function startBefore(bytes: Buffer, at: number): number | undefined {
  for (let start = at, plain = 0; start > 0 && at - start < stepsMax; start--) {
    const byte = bytes[start - 1] as number;
    if (plain === 0 && !isPlainByte(byte)) continue;
    plain = byte === backslash ? 0 : plain + 1;
    if (plain === escapeBytes) return start + escapeBytes - 1;
  }
  return undefined;
}

/** Excludes spaces, which may continue a line, and bytes of characters of several bytes. */
const isPlainByte = (byte: number): boolean => byte > 0x20 && byte < 0x80 && byte !== backslash;
const backslash = 0x5c;

/** Returns the segments of a beginning from its first to this one. */
function segmentsTo(last: Segment<Remembered> | undefined): readonly Segment<Remembered>[] {
  const segments: Segment<Remembered>[] = [];
  for (let it = last; it; it = it.before) segments.push(it);
  return segments.reverse();
}

function allOf(last: Segment<Remembered>, from: number): KnownBeginning {
  const contents = segmentsTo(last).map(({ content }) => content);
  const { end } = last.content;
  return {
    last,
    from,
    settledTo: end - settledBytes,
    newFrom: end,
    found: contents.flatMap((it) => it.found),
    knownValueMatches: contents.flatMap((it) => it.knownValueMatches),
    hints: contents.flatMap((it) => it.hints),
    partialSecrets: contents.flatMap((it) => it.partialSecrets),
    opaque: contents.flatMap((it) => it.opaque),
    wordEnds: contents.flatMap((it) => it.wordEnds),
    names: {
      fields: contents.every((it) => it.names.fields)
        ? contents.flatMap((it) => it.names.fields ?? none)
        : undefined,
      signs: contents.reduce((signs, it) => signs | it.names.signs, 0),
    },
    decoded: contents.flatMap((it) => (it.decoded.length > 0 ? it.decoded : [])),
  };
}

/** Holds what reading from a place on has shown. */
interface Shown extends Pick<Remembered, Lists> {
  /** Lists stretches whose end cannot be judged without their beginning. */
  readonly across: readonly Span[];
  /** Hold the searched texts; `decoded` are those of them that are decoded forms. */
  readonly views: readonly View[];
  readonly decoded: readonly View[];
  /** Lists all numbered fields of the body, where they were looked for. */
  readonly numbered: readonly NumberedField[] | undefined;
}

type Lists = 'found' | 'knownValueMatches' | 'hints' | 'partialSecrets' | 'opaque' | 'wordEnds';

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
  const settledFrom = known.settledTo;
  /** Groups spans by the checkpoint at which they become final, leaving out those that were final before. */
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
  const late = shown.found.filter((it) => endOf(it) <= settledFrom);
  const groups = {
    found: grouped(shown.found, endOf),
    knownValueMatches: grouped(shown.knownValueMatches),
    hints: grouped(shown.hints),
    partialSecrets: grouped(shown.partialSecrets.filter((it) => !isOfWords(bytes, it))),
    opaque: grouped(shown.opaque),
    wordEnds: grouped(shown.wordEnds),
    pieces: grouped(pieces),
  };
  const fieldsBetween = fieldsIn(shown.numbered);
  const isOpen = openAt(ends, [
    ...[...shown.found, ...shown.knownValueMatches, ...shown.hints, ...shown.partialSecrets, ...shown.opaque],
    ...[...shown.across, ...pieces, ...shown.views.flatMap((view) => farReachingIn(view, engine))],
  ]);
  const last = later.reduce<Segment<Remembered> | undefined>(
    (before, { end, key }, at) => {
      const content: Remembered = {
        end,
        isResumable: end > againBytes && !isOpen(at),
        found: (groups.found.get(at) ?? none).map(withoutView),
        knownValueMatches: (groups.knownValueMatches.get(at) ?? none).map(withoutView),
        hints: (groups.hints.get(at) ?? none).map(withoutView),
        partialSecrets: (groups.partialSecrets.get(at) ?? none).map(withoutText),
        opaque: groups.opaque.get(at) ?? none,
        wordEnds: groups.wordEnds.get(at) ?? none,
        names: {
          fields: fieldsBetween(ends[at - 1] ?? start, end),
          signs: signsBetween(bytes, ends[at - 1] ?? start, end),
        },
        decoded: Buffer.concat((groups.pieces.get(at) ?? none).flatMap(({ bytes }) => [bytes, separator])),
      };
      return { key, content, size: sizeOf(content), before };
    },
    known.names.fields || !shown.numbered ? known.last : withFields(known.last, fieldsBetween, late),
  );
  if (last) by.memory.segments.keep(by.tenantId, last);
}

const endOfSpan = ({ end }: Span): number => end;

/**
 * Returns a function that gives the end of the last place of a match. The first places of one that was joined from
 * pieces may lie in what was known before.
 */
function lastEnds(found: readonly LocatedMatch[]): (it: LocatedMatch) => number {
  const ends = new Map<LocatedMatch['match'], number>();
  for (const { match, end } of found) ends.set(match, Math.max(end, ends.get(match) ?? 0));
  return ({ match, end }) => ends.get(match) ?? end;
}

/** Returns a function that gives the fields that end between two places; undefined where none were looked for. */
function fieldsIn(numbered: readonly NumberedField[] | undefined) {
  const inOrder = numbered?.toSorted((one, other) => one.end - other.end);
  const ends = inOrder?.map(({ end }) => end) ?? [];
  return (after: number, to: number): readonly NumberedField[] | undefined =>
    inOrder?.slice(lastAtOrBefore(ends, after) + 1, lastAtOrBefore(ends, to) + 1);
}

/** Returns the segments with fields that nobody had looked for when they were made, and with what these show. */
function withFields(
  last: Segment<Remembered> | undefined,
  fieldsBetween: ReturnType<typeof fieldsIn>,
  shown: readonly LocatedMatch[],
): Segment<Remembered> | undefined {
  const segments = segmentsTo(last);
  const ends = segments.map(({ content }) => content.end);
  const found = Map.groupBy(shown, ({ end }) => lastAtOrBefore(ends, end + settledBytes - 1) + 1);
  return segments.reduce<Segment<Remembered> | undefined>((before, { key, content }, at) => {
    const fields = fieldsBetween(before?.content.end ?? 0, content.end);
    const filled = {
      ...content,
      found: [...content.found, ...(found.get(at) ?? none).map(withoutView)],
      names: { ...content.names, fields },
    };
    return { key, content: filled, size: sizeOf(filled), before };
  }, undefined);
}

/**
 * Creates a test for each checkpoint: does a span lie across the place where reading would resume, so that its end
 * could not be judged? `ends` are those of the checkpoints.
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
/** Pieces overlap, so that no word of a policy is cut in two. */
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

/** Limits the places of one word. Behind a word with more places reading does not resume. */
const placesMax = 64;

/** Caches for each engine the matcher of its far-reaching words. */
const farMatchers = new WeakMap<DetectorEngine, Matcher>();

/** Returns the places of words whose matches may end far behind them, each as long as its longest match. */
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
 * Drops the view, which would keep the whole body in memory. The value is kept also of a hint, which may gain
 * confidence beside something new.
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
 * Tells whether the beginning of a token is only words, such as `path` or `user:key`. Its continuation is then not
 * awaited.
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
  placedBytes * (opaque.length + wordEnds.length) +
  decoded.length;

/**
 * Answers whether a value found in the new end stands in the known beginning too. `textsOf` returns the beginning in
 * its forms.
 */
export function standsInKnown(
  found: readonly LocatedMatch[],
  known: KnownBeginning,
  textsOf: () => readonly Buffer[],
): boolean {
  const counted = [...known.found, ...weighHints(known.found, known.hints)];
  const isKnown = new Set(counted.map(countedValue));
  const values = new Set(found.map(countedValue).filter((it) => !isKnown.has(it)));
  values.delete(undefined);
  if (values.size === 0) return false;
  const texts = textsOf();
  return [...values].some((value) => texts.some((it) => it.includes(value as string, 0, 'latin1')));
}
