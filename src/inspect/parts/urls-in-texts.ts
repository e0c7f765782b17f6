import { isDigit, isLetter } from '../kernel/bytes.ts';

/*
 * URLs in what a call carries. Nobody says where one ends: in Markdown it is a parenthesis, in CSV a comma, in a sentence the full stop of
 * any script, and each of these may as well be part of it. So a URL is read in each way, and counts where one of them is listed.
 */

/** Places in the texts of one call. */
const urlsMax = 500;
/** Two slashes that are looked at for one: who writes nothing else takes some 30 ms. */
const slashesMax = 200_000;
const urlBytesMax = 2048;
const schemeBytesMax = 16;
/** A host of 253 letters (RFC 1035 section 2.3.4) with a user before it, in UTF-8. */
const authorityLengthMax = 1024;

/** What stands before a host: `//`, with a scheme or without one, and as clients take it that lean the other way. */
const anchors = ['//', ':\\', ':/\\'].map((it) => Buffer.from(it));
const slash = 0x2f;
const backslash = 0x5c;
const colon = 0x3a;

/** The URLs in texts, in any scheme and in none, each in the ways in which it may end; those of the first 500 places. */
export function* urlsIn(texts: readonly Buffer[]): Generator<readonly string[]> {
  const seen = new Set<string>();
  let slashes = 0;
  for (const text of texts) {
    for (const anchor of anchors) {
      for (let at = text.indexOf(anchor); at >= 0; ) {
        if (++slashes > slashesMax) return;
        const host = behindSlashes(text, at);
        if (isOfHost(text[host]) && !isInPath(text, at)) {
          if (seen.size >= urlsMax) return;
          const url = text.toString('utf8', startOf(text, at), endOf(text, host));
          if (!seen.has(url) && !isTooLong(url)) yield readingsOf(url);
          seen.add(url);
        }
        at = text.indexOf(anchor, Math.max(host, at + 1));
      }
    }
  }
}

function behindSlashes(text: Buffer, at: number): number {
  let end = text[at] === colon ? at + 1 : at;
  while (end < at + schemeBytesMax && (text[end] === slash || text[end] === backslash)) end += 1;
  return end;
}

/** A letter, a digit, the bracket of an address, or the escape of any of them; comments of programs go on with a space. */
const isOfHost = (byte = 0): boolean =>
  isLetter(byte) || isDigit(byte) || byte === 0x5b || byte === 0x25 || byte >= 0x80;

/** Two slashes behind a letter are of a path that has one too many. */
const isInPath = (text: Buffer, at: number): boolean =>
  text[at] === slash && (isLetter(text[at - 1]) || isDigit(text[at - 1]));

/** With the scheme before the slashes, if one is there. */
function startOf(text: Buffer, at: number): number {
  const end = text[at] === colon ? at : at - 1;
  if (text[end] !== colon) return at;
  let start = end;
  while (start > end - schemeBytesMax && isLetter(text[start - 1])) start -= 1;
  return start < end ? start : at;
}

/** White space, quotes, angle brackets and backslashes end a URL, in any format that carries one. */
const isEnd = (byte: number): boolean =>
  byte <= 0x20 || byte === 0x22 || byte === 0x3c || byte === 0x3e || byte === 0x5c || byte === 0x60;

function endOf(text: Buffer, from: number): number {
  const last = Math.min(text.length, from + urlBytesMax);
  let end = from;
  while (end < last && !isEnd(text[end] as number)) end += 1;
  return end;
}

const authority = /^(?:[a-z]{1,16}:)?[\\/]*([^\\/?#]*)/i;
const isTooLong = (url: string): boolean => (authority.exec(url)?.[1] ?? '').length > authorityLengthMax;

/** What may stand behind a URL or in it; brackets of an address do not count. */
const border = /[\p{White_Space}\p{Pi}\p{Pf}\p{Ps}\p{Pe}',;|*!…。、]/u;
const addressLiteral = /^(?:[a-z]{1,16}:)?[\\/]{1,16}\[[\da-f:.]{2,45}\]/i;
/** Behind the last letter. */
const trailing = /[^\p{L}\p{N}/]+$/u;

/** As long as it may be, and up to the first sign that often stands behind one; each also without the signs at its end. */
function readingsOf(url: string): readonly string[] {
  const address = addressLiteral.exec(url)?.[0].length ?? 0;
  const borderAt = url.slice(address).search(border);
  const short = borderAt < 0 ? url : url.slice(0, address + borderAt);
  const withoutEnd = (it: string): string => it.slice(0, address) + it.slice(address).replace(trailing, '');
  return [...new Set([url, short, withoutEnd(url), withoutEnd(short)])];
}
