/*
 * A URL as policies see it, once for each way in which servers may read it. `/%61dmin`, `//admin`,
 * `/x/..%2fadmin`, `/x/..%252fadmin` and `/x/..%c0%afadmin` may all reach `/admin`. A rule that allows must
 * match every reading. Any other rule matches when it matches one of them.
 */

/** The number of times that percent-encoding of percent-encoding is undone. */
const decodingsMax = 4;
const urlParts = /^([^/?#]*:\/\/[^/?]*)([^?]*)(.*)$/s;
/**
 * Overlong forms of UTF-8, which lenient decoders take (RFC 3629, 10), and the `%uXXXX` escapes of old
 * scripts.
 */
const oddEscape =
  /%C[01]%[89AB][0-9A-F]|%E0%[89][0-9A-F]%[89AB][0-9A-F]|%F0%8[0-9A-F]%[89AB][0-9A-F]%[89AB][0-9A-F]|%u[0-9A-F]{4}/gi;
const mayBeReadOtherwise = /\/\/|[;\\]|%(?:0[09AD]|2F|3B|5C|25|C[01]|E0%[89]|F0%8|u[0-9A-F]{4})/i;

/**
 * Returns the URLs that servers may take this one for. First percent-encoding is undone where that changes
 * nothing (RFC 3986, 6.2.2.2). Then the path is read as by servers that merge slashes, decode `%2F` and
 * `%3B`, and drop `;parameters` and line ends. Some also end a path at a NUL, so it is read in both ways. That
 * is done once for each level of percent-encoding. A URL with more levels is also read as `/%`, which only a
 * rule for the whole host allows.
 */
export function readingsOf(href: string): readonly string[] {
  const canonical = toCanonical(href);
  const [, origin = '', path = '', query = ''] = urlParts.exec(canonical) ?? [];
  if (!mayBeReadOtherwise.test(path) && toCanonical(path) === path) return [canonical];
  const readings = new Set([canonical]);
  let text = path;
  for (let times = 0; ; times++) {
    for (const ending of [text, text.replace(/%00.*/s, '')]) readings.add(origin + resolved(ending) + query);
    const decoded = decodedOnce(text);
    if (decoded === text) break;
    if (times === decodingsMax) {
      readings.add(`${origin}/%${query}`);
      break;
    }
    text = decoded;
  }
  return [...readings];
}

const someOrigin = 'http://host';

/** Returns the other ways in which servers may read a path with query. Nearly all paths have none. */
export function otherReadingsOf(path: string): readonly string[] {
  if (!mayBeReadOtherwise.test(path)) return none;
  return readingsOf(someOrigin + path)
    .slice(1)
    .map((url) => url.slice(someOrigin.length));
}

const none: readonly string[] = Object.freeze([]);

/** Returns the text with percent-encoding undone where that changes nothing, and in upper case elsewhere. */
export function toCanonical(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%[0-9a-f]{2}/gi, (code) => {
    const char = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return unreserved.test(char) ? char : code.toUpperCase();
  });
}

const unreserved = /^[\w.~-]$/;

function resolved(path: string): string {
  const lenient = path
    .replace(/%0[9AD]/g, '')
    .replace(/%2F|%5C|\\/g, '/')
    .replace(/(?:;|%3B)[^/]*/g, '')
    .replace(/\/{2,}/g, '/');
  return URL.parse(`http://host${lenient}`)?.pathname ?? lenient;
}

/**
 * Undoes one level of percent-encoding of percent-encoding, and replaces odd escapes by what they stand for.
 */
const decodedOnce = (path: string): string =>
  toCanonical(
    path.replace(oddEscape, (odd) => toEscape(codePointOf(odd))).replace(/%25(?=[0-9A-F]{2}|u)/gi, '%'),
  );

function codePointOf(odd: string): number {
  if (odd[1]?.toLowerCase() === 'u') return Number.parseInt(odd.slice(2), 16);
  const [first = 0, ...rest] = (odd.match(/[0-9A-F]{2}/gi) ?? []).map((hex) => Number.parseInt(hex, 16));
  const lead = first & (0x7f >> (rest.length + 1));
  return rest.reduce((point, byte) => point * 64 + (byte & 0x3f), lead);
}

/** Slashes that a server may take for `/` when its character set lacks them. */
const slashes: readonly number[] = [0x2044, 0x2215];
const replacement = '%EF%BF%BD';

function toEscape(codePoint: number): string {
  if (slashes.includes(codePoint)) return '%2F';
  const char = String.fromCodePoint(codePoint).normalize('NFKC');
  if (!char.isWellFormed()) return replacement;
  return encodeURIComponent(char);
}
