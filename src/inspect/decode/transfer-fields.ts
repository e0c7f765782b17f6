import type { DecodeBudget } from './budget.ts';
import type { Span } from './span-map.ts';

/*
 * Reads the field `Content-Transfer-Encoding` of a mail or of a part (RFC 2045, 6). If a text declares its
 * encoding, less evidence suffices to decode it.
 */

const quotedPrintable = /^content-transfer-encoding\s*:[^:]{0,64}?quoted-printable/im;
const base64 = /^content-transfer-encoding\s*:[^:]{0,64}?base64/gim;
const blankLine = /\n\r?\n/;
/** Bound on the bytes of a part's head, before and behind a field. */
const headBytesMax = 8192;

/** Returns the end of the first field that declares quoted-printable; infinity where there is none. */
export function quotedPrintableFrom(bytes: Buffer): number {
  const found = quotedPrintable.exec(bytes.toString('latin1'));
  return found ? found.index + found[0].length : Number.POSITIVE_INFINITY;
}

/**
 * Yields the contents behind heads that declare base64. A content ends at the delimiter of its part, or else
 * at the next such head.
 */
export function* base64Contents(bytes: Buffer, budget: DecodeBudget): Iterable<Span> {
  const text = bytes.toString('latin1');
  const fields = [...text.matchAll(base64)];
  for (const [number, { 0: field, index }] of fields.entries()) {
    budget.work(headBytesMax);
    const fieldEnd = index + field.length;
    const blank = blankLine.exec(text.slice(fieldEnd, fieldEnd + headBytesMax));
    if (!blank) continue;
    const start = fieldEnd + blank.index + blank[0].length;
    const delimiter = delimiterBefore(text, index);
    const next = delimiter === undefined ? -1 : text.indexOf(`\n${delimiter}`, start);
    const end = next < 0 ? (fields[number + 1]?.index ?? text.length) : next;
    budget.work(end - start);
    if (end > start) yield { start, end };
  }
}

/** Returns the delimiter line that begins the part around this head; undefined where there is no part. */
function delimiterBefore(text: string, at: number): string | undefined {
  const lines = text.slice(Math.max(0, at - headBytesMax), at).split('\n');
  for (const line of lines.reverse().slice(1)) {
    if (line.startsWith('--')) return line.trimEnd();
    if (line.trim() === '') return undefined;
  }
  return undefined;
}
