import type { Finding } from '../call.ts';
import type { DetectorEngine } from '../detectors/engine.ts';
import { bodyPart, type ReadBounds, readPart } from './read-part.ts';
import { counts } from './sanitize.ts';

/*
 * What lies across the seam of two messages of one open call, and is seen in neither alone: somebody who types sends a secret letter by
 * letter. Messages that are whole documents of JSON have no such seam; what is split over those is known by the tails of `split-calls.ts`.
 */

/** Of either side: no secret that is told by its form is longer. */
export const seamBytesMax = 512;
/** No vendor's host: what is sent in pieces is at home nowhere. */
const nowhere = 'seam.invalid';
const none: readonly Finding[] = Object.freeze([]);

/** Findings that begin `before` the message and end in it, with the bytes that they have of the message. */
export function findAcross(
  before: Buffer,
  message: Buffer,
  engine: DetectorEngine,
  bounds: ReadBounds,
): { readonly findings: readonly Finding[]; readonly unreadable: string | undefined } {
  if (before.length === 0 || message.length === 0 || areDocuments(before, message))
    return { findings: none, unreadable: undefined };
  const joined = Buffer.concat([before, message.subarray(0, seamBytesMax)]);
  const { findings, unreadable } = readPart(bodyPart(joined, 'text/plain', nowhere), engine, bounds);
  const seam = before.length;
  const across = findings.filter((it) => counts(it) && it.start < seam && it.end > seam);
  return {
    findings: across.map((it) => ({
      ...it,
      ...{ location: 'body', start: 0, end: it.end - seam, isRest: true },
    })),
    unreadable,
  };
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
