import type { DecodeBudget } from './budget.ts';
import type { Span } from './span-map.ts';

/*
 * `Content-Transfer-Encoding` of a mail or of a part (RFC 2045, 6). Where a text says how it is written, less of it tells an encoding.
 */

const quotedPrintable = /^content-transfer-encoding\s*:[^:]{0,64}?quoted-printable/im;
const base64 = /^content-transfer-encoding\s*:[^:]{0,64}?base64/gim;
const blankLine = /\n\r?\n/;
/** Of the head of a part, before a field and behind it. */
const headBytesMax = 8192;

/** Behind the first field that says quoted-printable; beyond the end where there is none. */
export function quotedPrintableFrom(bytes: Buffer): number {
  const found = quotedPrintable.exec(bytes.toString('latin1'));
  return found ? found.index + found[0].length : Number.POSITIVE_INFINITY;
}

/** What stands behind heads that say base64, to the delimiter of its part; without one to the next such head. */
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

/** The line with which the part begins in whose head something stands; undefined where it is no part. */
function delimiterBefore(text: string, at: number): string | undefined {
  const lines = text.slice(Math.max(0, at - headBytesMax), at).split('\n');
  for (const line of lines.reverse().slice(1)) {
    if (line.startsWith('--')) return line.trimEnd();
    if (line.trim() === '') return undefined;
  }
  return undefined;
}
