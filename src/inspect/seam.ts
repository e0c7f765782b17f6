import type { Finding } from '../core/call.ts';
import { type Field, fieldsOf } from './decode/fields.ts';
import { protobufTexts } from './decode/packed/protobuf.ts';
import type { DetectorEngine } from './match/engine.ts';
import { counts } from './parts/sanitize.ts';
import { bodyPart, type PartResult, type ReadBounds, readPart } from './read-part.ts';

/*
 * Reads across the boundary between two messages of an open call, where neither shows the whole: somebody who types
 * sends a secret letter by letter. Messages that are JSON documents have no such boundary, but each of their fields
 * goes on in the same field of the next.
 */

/** Is the length read on either side of a boundary. No secret with a form of its own is longer. */
export const seamBytesMax = 512;
/** Is no vendor's host, so no credential sent in pieces counts as being where it belongs. */
const nowhere = 'seam.invalid';
const noBytes = Buffer.alloc(0);
const none: readonly Finding[] = Object.freeze([]);

type Across = Pick<PartResult, 'findings' | 'unreadable' | 'isOutOfTime'>;
const nothingAcross: Across = Object.freeze({ findings: none, unreadable: undefined, isOutOfTime: false });

/** Finds what begins in `before` and ends in the message. The spans cover only the bytes in the message. */
export function findAcross(
  before: Buffer,
  message: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
): Across {
  if (before.length === 0 || message.length === 0 || areDocuments(before, message)) return nothingAcross;
  const joined = Buffer.concat([before, message.subarray(0, seamBytesMax)]);
  const { findings, unreadable, isOutOfTime } = readPart(
    bodyPart(joined, 'text/plain', nowhere),
    engine,
    bounds,
  );
  const seam = before.length;
  const across = findings.filter((it) => counts(it) && it.start < seam && it.end > seam);
  return {
    findings: across.map((it) => ({
      ...it,
      ...{ location: 'body', start: 0, end: it.end - seam },
    })),
    unreadable,
    isOutOfTime,
  };
}

/** Maps the path or name of each field of protobuf or JSON messages to the last bytes sent in it. */
export type FieldEnds = ReadonlyMap<string, Buffer>;

export const noFieldEnds: FieldEnds = new Map();
/** Limits the fields; those sent last are kept. */
const fieldEndsMax = 64;

/** Is the size above which a document is no piece of what somebody types or streams. */
const documentBytesMax = 65_536;

/** Tells whether a message begins as a JSON document. */
export const isDocument = (message: Buffer): boolean => opens.has(message[0]);

/** Returns the fields of a message; of JSON only those with a name. */
function fieldsIn(message: Buffer): Iterable<Field> {
  if (!isDocument(message))
    return protobufTexts(message).map(({ path: name, ...span }) => ({ name, ...span }));
  if (message.length > documentBytesMax) return [];
  return fieldsOf(message, 'json')
    .flat()
    .filter(({ name }) => name !== '');
}

/** Does the same for each field. A value goes on in the same field of the next message, behind the text around it. */
export function findAcrossFields(
  before: FieldEnds,
  message: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
): Across {
  const found: Finding[] = [];
  if (before.size === 0) return nothingAcross;
  for (const { name, start, end } of fieldsIn(message)) {
    const text = message.subarray(start, end);
    const across = findAcross(before.get(name) ?? noBytes, text, engine, bounds);
    if (across.unreadable !== undefined) return { ...across, findings: found };
    // Values of two documents need not go on in one another, so only what a prefix proves counts.
    const proven = isDocument(message)
      ? across.findings.filter((it) => it.class === 'SECRETS' && engine.tokenOf(it.kind) !== undefined)
      : across.findings;
    found.push(...proven.map((it) => ({ ...it, start, end: start + it.end })));
  }
  return { ...nothingAcross, findings: found };
}

export function lastFieldEnds(before: FieldEnds, message: Buffer): FieldEnds {
  const ends = new Map(before);
  for (const { name, start, end } of fieldsIn(message)) {
    const last = lastBytes(ends.get(name) ?? noBytes, message.subarray(start, end));
    ends.delete(name);
    ends.set(name, last);
  }
  return new Map([...ends].slice(-fieldEndsMax));
}

/** Returns the last bytes sent, once the message is sent too. They are a copy, which keeps no message alive. */
export function lastBytes(before: Buffer, message: Buffer): Buffer {
  if (message.length >= seamBytesMax) return Buffer.from(message.subarray(message.length - seamBytesMax));
  const kept = before.subarray(Math.max(0, before.length + message.length - seamBytesMax));
  return Buffer.concat([kept, message]);
}

const opens: ReadonlySet<number | undefined> = new Set(Buffer.from('{['));
const closes: ReadonlySet<number | undefined> = new Set(Buffer.from('}]'));

const areDocuments = (before: Buffer, message: Buffer): boolean =>
  opens.has(message[0]) && closes.has(before.at(-1));
