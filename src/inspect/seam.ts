import type { Finding } from '../core/call.ts';
import { type Field, fieldsOf } from './decode/fields.ts';
import { protobufTexts } from './decode/packed/protobuf.ts';
import type { DetectorEngine } from './match/engine.ts';
import { counts } from './parts/sanitize.ts';
import { bodyPart, type PartResult, type ReadBounds, readPart } from './read-part.ts';

/*
 * What lies across the seam of two messages of one open call, and is seen in neither alone: somebody who types sends a secret letter by
 * letter. Messages that are whole documents of JSON have no such seam, but each of their fields has one with the same field before.
 */

/** Of either side: no secret that is told by its form is longer. */
export const seamBytesMax = 512;
/** No vendor's host: what is sent in pieces is at home nowhere. */
const nowhere = 'seam.invalid';
const noBytes = Buffer.alloc(0);
const none: readonly Finding[] = Object.freeze([]);

type Across = Pick<PartResult, 'findings' | 'unreadable' | 'isOutOfTime'>;
const nothingAcross: Across = Object.freeze({ findings: none, unreadable: undefined, isOutOfTime: false });

/** Findings that begin `before` the message and end in it, with the bytes that they have of the message. */
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

/** The last bytes that have gone out in each field of messages of protobuf or JSON, by the field's path or name. */
export type FieldEnds = ReadonlyMap<string, Buffer>;

export const noFieldEnds: FieldEnds = new Map();
/** Those that were sent last. */
const fieldEndsMax = 64;

/** Longer documents are no pieces of what somebody types or streams. */
const documentBytesMax = 65_536;

/** Whether a message begins as a document of JSON does. */
export const isDocument = (message: Buffer): boolean => opens.has(message[0]);

/** The fields of a message; of JSON those with a name. */
function fieldsIn(message: Buffer): Iterable<Field> {
  if (!isDocument(message))
    return protobufTexts(message).map(({ path: name, ...span }) => ({ name, ...span }));
  if (message.length > documentBytesMax) return [];
  return fieldsOf(message, 'json')
    .flat()
    .filter(({ name }) => name !== '');
}

/** The same within each field: what stands around fields stands between what a field holds in one message and in the next. */
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
    // Values of two documents need not go on: only what shows itself by its prefix does.
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

/** The last bytes of what has gone out, once this has gone too. A copy, so that it keeps no message alive. */
export function lastBytes(before: Buffer, message: Buffer): Buffer {
  if (message.length >= seamBytesMax) return Buffer.from(message.subarray(message.length - seamBytesMax));
  const kept = before.subarray(Math.max(0, before.length + message.length - seamBytesMax));
  return Buffer.concat([kept, message]);
}

const opens: ReadonlySet<number | undefined> = new Set(Buffer.from('{['));
const closes: ReadonlySet<number | undefined> = new Set(Buffer.from('}]'));

const areDocuments = (before: Buffer, message: Buffer): boolean =>
  opens.has(message[0]) && closes.has(before.at(-1));
