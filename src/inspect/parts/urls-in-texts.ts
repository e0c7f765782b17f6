import { isDigit, isLetter } from '../kernel/bytes.ts';

/*
 * Finds URLs in a call. Nothing tells where one ends: at a parenthesis in Markdown, at a comma in CSV, or at
 * a full stop in a sentence. Each of these may be part of it. So a URL is read in each way, and counts where
 * one reading is listed.
 */

/** Bound on the places in the texts of one call. */
const urlsMax = 500;
/** Bound on the double slashes that are looked at in one call; so many take about 30 ms. */
const slashesMax = 200_000;
const urlBytesMax = 2048;
const schemeBytesMax = 16;
/** Bound on the length of a host of 253 letters (RFC 1035, 2.3.4) in UTF-8, with a user before it. */
const authorityLengthMax = 1024;

/**
 * The signs before a host: `//` with or without a scheme, and with backslashes, as lenient clients take them.
 */
const anchors = ['//', ':\\', ':/\\'].map((it) => Buffer.from(it));
const slash = 0x2f;
const backslash = 0x5c;
const colon = 0x3a;

/**
 * Yields the URLs in texts, with and without a scheme, for the first 500 places. Each is given in the ways in
 * which it may end.
 */
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

/**
 * Tells whether a byte may begin a host: a letter, a digit, the bracket of an address, or an escape. Comments
 * of programs go on with a space instead.
 */
const isOfHost = (byte = 0): boolean =>
  isLetter(byte) || isDigit(byte) || byte === 0x5b || byte === 0x25 || byte >= 0x80;

/** Tells whether two slashes stand behind a letter or digit, so that they belong to a path. */
const isInPath = (text: Buffer, at: number): boolean =>
  text[at] === slash && (isLetter(text[at - 1]) || isDigit(text[at - 1]));

/** Returns the start of the URL, at its scheme where one stands before the slashes. */
function startOf(text: Buffer, at: number): number {
  const end = text[at] === colon ? at : at - 1;
  if (text[end] !== colon) return at;
  let start = end;
  while (start > end - schemeBytesMax && isLetter(text[start - 1])) start -= 1;
  return start < end ? start : at;
}

/** Tells whether a byte ends a URL in any format: white space, a quote, an angle bracket or a backslash. */
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

/** Matches what may stand behind a URL or in it. The brackets of an address are skipped before. */
const border = /[\p{White_Space}\p{Pi}\p{Pf}\p{Ps}\p{Pe}',;|*!…。、]/u;
const addressLiteral = /^(?:[a-z]{1,16}:)?[\\/]{1,16}\[[\da-f:.]{2,45}\]/i;
/** Matches what stands behind the last letter, digit or slash. */
const trailing = /[^\p{L}\p{N}/]+$/u;

/**
 * Returns the readings of a URL: the longest, one up to the first border character, and both without trailing
 * signs.
 */
function readingsOf(url: string): readonly string[] {
  const address = addressLiteral.exec(url)?.[0].length ?? 0;
  const borderAt = url.slice(address).search(border);
  const short = borderAt < 0 ? url : url.slice(0, address + borderAt);
  const withoutEnd = (it: string): string => it.slice(0, address) + it.slice(address).replace(trailing, '');
  return [...new Set([url, short, withoutEnd(url), withoutEnd(short)])];
}
