import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { kept } from '../../util/kept.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { OpaqueContent } from '../decode/packed/opaque.ts';
import type { Span } from '../decode/span-map.ts';
import { type DetectorEngine, type PartialSecret, reachMax } from '../match/engine.ts';
import { weighHints } from '../match/evidence.ts';
import type { Placed } from '../match/placed.ts';
import { countedValue, type LocatedMatch } from '../split/known-values.ts';
import type { NumberedNames } from '../split/split-values.ts';
import type { Checkpoint } from './checkpoints.ts';
import { LastBodies } from './last-bodies.ts';
import { type Segment, SegmentMemory } from './segment-memory.ts';

/*
 * Recognises the beginnings of bodies, since a conversation is sent as a whole with every turn. Where a body
 * begins with the bytes of an earlier one of the same tenant, read with the same detectors, its findings are
 * known. Reading then begins shortly before the first new byte.
 *
 * Nothing can hide behind a known beginning. Everything before a place is in the key of that place. What ends
 * so close to it that new bytes could change its meaning is read again. As much is read before it as any
 * detector looks at. Where something reaches farther (a long value, a key with lines as list items, a table),
 * reading does not resume.
 */

/** What a beginning shows between two checkpoints, at the same places in all such bodies. */
export interface Remembered {
  /** The end of the checkpoint. */
  readonly end: number;
  /** Tells whether reading may begin at this checkpoint. */
  readonly isResumable: boolean;
  readonly found: readonly LocatedMatch[];
  /** Places found because the same value was found elsewhere. */
  readonly knownValueMatches: readonly LocatedMatch[];
  readonly hints: readonly LocatedMatch[];
  readonly partialSecrets: readonly Placed<PartialSecret>[];
  readonly opaque: readonly OpaqueContent[];
  /** Words of rules that stand there for the first time. */
  readonly wordEnds: readonly WordEnd[];
  /** The names of the fields between this checkpoint and the one before. */
  readonly names: NumberedNames;
  /** The decoded forms, joined with separators. */
  readonly decoded: Buffer;
}

/** The place in the body where a word of the rules first ends. `word` is its index. */
export interface WordEnd extends Span {
  readonly word: number;
}

export interface BeginningMemory {
  /** Digests of how bodies began. Most bodies are no conversation, and a single one is not worth keeping. */
  readonly begun: RecentMap<string, true>;
  readonly segments: SegmentMemory<Remembered>;
  readonly lastBodies: LastBodies;
}

/** The memory that holds the beginnings, and the tenant that they belong to. */
export interface KnownBy {
  readonly memory: BeginningMemory;
  readonly tenantId: string;
}

const megabyte = 1024 * 1024;
/** Bound on the bytes of all segments. A megabyte of conversation takes 20 to 50 KB. */
const memoryBytesMax = 32 * megabyte;
const tenantShare = 0.25;
const lastBodies = { countMax: 64, bytesMax: 8 * megabyte };
const begunMax = 4096;
/** How many first bytes tell a conversation. Bodies that are equal so far count as the same one. */
export const begunBytes = 4096;
/**
 * The least length of a body that is looked up, in bytes. Smaller bodies are read faster than they are looked
 * up.
 */
export const bodyBytesMin = 8192;
/** The distance behind a value within which a word may still change its meaning, in bytes. */
export const settledBytes = 1536;
/** How many bytes before a checkpoint are read again. */
export const againBytes = settledBytes + reachMax;

export const createBeginningMemory = (): BeginningMemory => ({
  begun: new RecentMap(begunMax),
  segments: new SegmentMemory({ bytesMax: memoryBytesMax, tenantShare }),
  lastBodies: new LastBodies(lastBodies),
});

/** The names of those lists of `Remembered` that are put together for a beginning as a whole. */
export type Lists = 'found' | 'knownValueMatches' | 'hints' | 'partialSecrets' | 'opaque' | 'wordEnds';

/** What is known of how a body begins. */
export interface Beginning {
  readonly by: KnownBy;
  readonly checkpoints: readonly Checkpoint[];
  readonly known: KnownBeginning;
}

export interface KnownBeginning extends Pick<Remembered, Lists | 'names'> {
  readonly last: Segment<Remembered> | undefined;
  /** Where reading begins; undefined where nothing is known. */
  readonly from: number | undefined;
  /** The place up to which findings are final. */
  readonly settledTo: number;
  /** The first place where a new byte may stand. */
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
    names: { fields: none, signs: 0, searched: none },
    decoded: none,
  },
};

/** The number of each engine and word list. Bodies that were read with others share no keys. */
const ids = new WeakMap<DetectorEngine | readonly string[], number>();
let lastId = 0;

const idOf = (lookedFor: DetectorEngine | readonly string[]): number =>
  kept(ids, lookedFor, () => {
    lastId += 1;
    return lastId;
  });

/**
 * Looks up the longest known beginning of a JSON body. Returns undefined for the first such body, which is
 * not remembered, and for bodies that cannot be compared.
 */
export function beginningOf(
  { bytes, words = none }: { readonly bytes: Buffer; readonly words?: readonly string[] | undefined },
  engine: DetectorEngine,
  by: KnownBy,
): Beginning | undefined {
  // A body that is not UTF-8 is not read unescaped, so its beginning could not be compared.
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

/** More bytes than any escape has, except a line end with its indentation. */
const escapeBytes = 12;
const stepsMax = 1024;

/** Returns a place before `at` that cuts neither a character nor an escape; undefined if there is none. */
function startBefore(bytes: Buffer, at: number): number | undefined {
  for (let start = at; start > 0 && at - start < stepsMax; start--)
    if (isPlainByte(bytes[start - 1] as number) && !mayCutEscape(bytes, start)) return start;
  return undefined;
}

/**
 * Tells whether a byte is neither a space, which may continue a line, nor a part of an escape or a longer
 * character.
 */
const isPlainByte = (byte: number): boolean => byte > 0x20 && byte < 0x80 && byte !== backslash;
const backslash = 0x5c;
const shortEscapes = Buffer.from('"\\/bfnrt');

/** Tells whether an escape may lie across a place behind a plain byte. */
function mayCutEscape(bytes: Buffer, start: number): boolean {
  const before = bytes.subarray(Math.max(0, start - escapeBytes), start);
  const last = before.lastIndexOf(backslash);
  // An escape of one letter has ended where another byte follows it.
  return last >= 0 && (last + 2 >= before.length || !shortEscapes.includes(before[last + 1] as number));
}

/** Returns the segments of a beginning, from its first to this one. */
export function segmentsTo(last: Segment<Remembered> | undefined): readonly Segment<Remembered>[] {
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
      searched: contents.flatMap((it) => it.names.searched),
    },
    decoded: contents.flatMap((it) => (it.decoded.length > 0 ? it.decoded : [])),
  };
}

/**
 * Tells whether a value found in the new end stands in the known beginning too. `textsOf` returns the
 * beginning in its forms.
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
