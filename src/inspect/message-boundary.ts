import type { Finding } from '../core/call.ts';
import { type Field, fieldsOf } from './decode/fields.ts';
import { protobufTexts } from './decode/packed/protobuf.ts';
import type { View } from './decode/views.ts';
import type { DetectorEngine } from './match/engine.ts';
import { counts } from './parts/sanitize.ts';
import { bodyPart, type CallPart, type PartResult, type ReadBounds, readPart } from './read-part.ts';

/*
 * Reads across the boundary between two messages, in either direction, where neither shows the whole.
 * Somebody who types sends a secret letter by letter, and a model answers it token by token. Messages that
 * are JSON documents have no such boundary, but each of their fields goes on in the same field of the next.
 */

/** How many bytes before a boundary are remembered. No secret with a form of its own is longer. */
export const boundaryBytesMax = 512;
/** Bound on the bytes kept of a finding that may go on in the next message. */
const openBytesMax = 8_192;
/** A host that is no vendor's, so that no credential in pieces counts as being where it belongs. */
const nowhere = 'boundary.invalid';
const noBytes = Buffer.alloc(0);
const none: readonly Finding[] = Object.freeze([]);

type Across = Pick<PartResult, 'findings' | 'unreadable' | 'isOutOfTime'>;
const nothingAcross: Across = Object.freeze({ findings: none, unreadable: undefined, isOutOfTime: false });

/** What two texts show that come one behind the other. */
export interface BoundaryReading extends Across {
  /** Both texts together, as far as they were read. */
  readonly part: CallPart;
  readonly views: readonly View[];
  /**
   * Where a finding that reaches the end of what was read begins in both texts together; undefined where
   * there is none.
   */
  readonly openFrom: number | undefined;
}

export interface BoundaryOptions {
  readonly engine: DetectorEngine;
  readonly bounds: ReadBounds;
  /**
   * Bound on the bytes read behind the boundary. A finding that reaches their end counts to the end of the
   * text.
   */
  readonly reachBytes: number;
}

/** Finds what begins in `before` and ends in the text. The spans cover only the bytes in the text. */
export function readBoundary(
  before: Buffer,
  text: Buffer,
  { engine, bounds, reachBytes }: BoundaryOptions,
): BoundaryReading {
  const boundary = before.length;
  const joined = Buffer.concat([before, text.subarray(0, reachBytes)]);
  const part = bodyPart(joined, 'text/plain', nowhere);
  const { findings, views, unreadable, isOutOfTime } = readPart(part, engine, bounds);
  const found = findings.filter(counts);
  const open = found.filter((it) => it.end === joined.length).map((it) => it.start);
  const endOf = ({ end }: Finding): number => (end === joined.length ? text.length : end - boundary);
  return {
    part,
    views,
    unreadable,
    isOutOfTime,
    findings: found
      .filter((it) => it.start < boundary && it.end > boundary)
      .map((it) => ({ ...it, location: 'body', start: 0, end: endOf(it) })),
    openFrom: open.length > 0 ? Math.min(...open) : undefined,
  };
}

/**
 * Returns the last bytes of two texts. Of a finding that reaches their end from `openFrom` on, it returns
 * more.
 */
export function lastBytes(before: Buffer, text: Buffer, openFrom?: number): Buffer {
  const length = before.length + text.length;
  const usualFrom = Math.max(0, length - boundaryBytesMax);
  const from = Math.min(usualFrom, Math.max(openFrom ?? usualFrom, length - openBytesMax));
  // The copy keeps no message alive.
  return from >= before.length
    ? Buffer.from(text.subarray(from - before.length))
    : Buffer.concat([before.subarray(from), text]);
}

/** The last bytes of each text in messages, by its path or name. */
export type FieldEnds = ReadonlyMap<string, Buffer>;

export const noFieldEnds: FieldEnds = new Map();

/** Finds what lies across the boundary of two messages that go out on an open call. */
export function findBoundaryMatches(
  before: Buffer,
  message: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
): Across {
  if (before.length === 0 || message.length === 0 || areDocuments(before, message)) return nothingAcross;
  return readBoundary(before, message, { engine, bounds, reachBytes: boundaryBytesMax });
}

/** Bound on the fields; those sent last are kept. */
const fieldEndsMax = 64;

/** The size above which a document is no piece of what somebody types or streams, in bytes. */
const documentBytesMax = 65_536;

/** Tells whether a message begins as a JSON document. */
export const isDocument = (message: Buffer): boolean => opens.has(message[0]);

/** Returns the fields of a message; of a JSON message only those with a name. */
function fieldsIn(message: Buffer): Iterable<Field> {
  if (!isDocument(message))
    return protobufTexts(message).map(({ path: name, ...span }) => ({ name, ...span }));
  if (message.length > documentBytesMax) return [];
  return fieldsOf(message, 'json')
    .flat()
    .filter(({ name }) => name !== '');
}

/**
 * Finds what lies across the boundary in each field. A value goes on in the same field of the next message.
 */
export function findFieldBoundaryMatches(
  before: FieldEnds,
  message: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
): Across {
  const found: Finding[] = [];
  if (before.size === 0) return nothingAcross;
  for (const { name, start, end } of fieldsIn(message)) {
    const text = message.subarray(start, end);
    const across = findBoundaryMatches(before.get(name) ?? noBytes, text, engine, bounds);
    if (across.unreadable !== undefined) return { ...across, findings: found };
    // The values of two documents need not go on in one another, so only what a prefix proves counts.
    const proven = isDocument(message)
      ? across.findings.filter((it) => it.class === 'SECRETS' && engine.tokenOf(it.kind) !== undefined)
      : across.findings;
    found.push(...proven.map((it) => ({ ...it, start, end: start + it.end })));
  }
  return { ...nothingAcross, findings: found };
}

/** Returns the ends of all fields as they are once the message is sent too. */
export function lastFieldEnds(before: FieldEnds, message: Buffer): FieldEnds {
  const ends = new Map(before);
  for (const { name, start, end } of fieldsIn(message)) {
    const last = lastBytes(ends.get(name) ?? noBytes, message.subarray(start, end));
    ends.delete(name);
    ends.set(name, last);
  }
  return new Map([...ends].slice(-fieldEndsMax));
}

const opens: ReadonlySet<number | undefined> = new Set(Buffer.from('{['));
const closes: ReadonlySet<number | undefined> = new Set(Buffer.from('}]'));

const areDocuments = (before: Buffer, message: Buffer): boolean =>
  opens.has(message[0]) && closes.has(before.at(-1));
