import { byteSet, digits, isAlphanumeric, lowerCase, upperCase } from '../kernel/bytes.ts';

/*
 * Recognises redaction markers, `[REDACTED:<detector id>]`. The id in a marker could be a keyword for the
 * value beside it, so that a body redacted twice would lose more each time. Only known ids make a marker.
 */

export const markerStart = '[REDACTED:';
const opening = 0x5b;
const closing = 0x5d;
const idLengthMax = 64;

/** 1 for each character behind a marker that makes it the beginning of a longer value. */
const continuesValue = byteSet(`${digits}${lowerCase}${upperCase}_@/+=$!#%-`);

/** Returns the end of the marker that begins at `start`; 0 where there is none. */
export function markerEnd(bytes: Buffer, start: number, ids: ReadonlySet<string>): number {
  const from = start + markerStart.length;
  const length = bytes.subarray(from, from + idLengthMax + 1).indexOf(closing);
  if (length <= 0 || bytes.toString('latin1', start, from) !== markerStart) return 0;
  return ids.has(bytes.toString('latin1', from, from + length)) ? from + length + 1 : 0;
}

/** Tells whether a match is only a marker, and not a longer value that begins with one. */
export function isOfMarker(bytes: Buffer, start: number, end: number, ids: ReadonlySet<string>): boolean {
  let at = start;
  while (at < end && !isAlphanumeric(bytes[at]) && bytes[at] !== opening) at += 1;
  const markedTo = endAround(bytes, at, ids);
  return markedTo > at && (markedTo >= end || continuesValue[bytes[markedTo] ?? 0] === 0);
}

/** Returns the end of the marker around the byte at `at`; 0 where there is none. */
function endAround(bytes: Buffer, at: number, ids: ReadonlySet<string>): number {
  const limit = Math.max(0, at - markerStart.length - idLengthMax);
  for (let start = at; start >= limit; start -= 1) {
    if (bytes[start] === opening) return markerEnd(bytes, start, ids);
    if (start < at && bytes[start] === closing) return 0;
  }
  return 0;
}
