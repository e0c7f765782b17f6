import type { Budget } from './budget.ts';
import { byteSet, readHex } from './bytes.ts';
import type { EscapeDecoder, Output } from './unescape.ts';

const equalsSign = 0x3d;
const newline = 0x0a;
const carriageReturn = 0x0d;
/** What stands between two escapes of one word, at most. */
const gapMax = 32;
/** Between the `=` signs of queries, attributes and assignments stands one of these. */
const endsWord = byteSet(' \t&?;,"\'<>(){}[]');

/** `=41`, and `=` at the end of a line for no line end at all (RFC 2045, 6.7). */
export const quotedPrintable: EscapeDecoder = {
  name: 'quoted-printable',
  leads: [equalsSign],
  read(bytes: Buffer, at: number, out: Output): number {
    const length = escapeLength(bytes, at);
    if (length === 3 && bytes[at + 1] !== carriageReturn) out.push(readHex(bytes, at + 1, 2));
    return length;
  },
};

/** Whether a word has two such escapes, as `a=12&b=34` has not. Most texts have no `=` and are left after one native search. */
export function holdsQuotedPrintable(bytes: Buffer, budget: Budget): boolean {
  let escapeEnd = -1;
  let at = bytes.indexOf(equalsSign);
  while (at >= 0) {
    budget.work(gapMax);
    const length = escapeLength(bytes, at);
    if (length > 0) {
      if (escapeEnd >= 0 && at - escapeEnd <= gapMax && isWord(bytes, escapeEnd, at)) return true;
      escapeEnd = at + length;
    }
    at = bytes.indexOf(equalsSign, at + Math.max(1, length));
  }
  return false;
}

function escapeLength(bytes: Buffer, at: number): number {
  if (bytes[at + 1] === newline) return 2;
  if (bytes[at + 1] === carriageReturn && bytes[at + 2] === newline) return 3;
  return readHex(bytes, at + 1, 2) >= 0 ? 3 : 0;
}

function isWord(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (endsWord[bytes[at] ?? 0] === 1) return false;
  return true;
}
