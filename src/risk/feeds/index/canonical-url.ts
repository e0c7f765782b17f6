import { isIP } from 'node:net';
import { normaliseHost } from '../../../core/target.ts';
import { hexDigit } from '../../../util/hex-digit.ts';

/*
 * URLs in the form in which feeds and calls are compared. The form is that of Google Safe Browsing v4 ("URLs
 * and Hashing"), with three differences. The parts are found as the URL standard finds them, before anything
 * is unescaped. So `http://good.example%2F@evil.example/` is at the host that would be dialled. A backslash
 * in the path counts as a slash, as it does for clients. An empty query counts as none.
 */

interface SplitUrl {
  /** The host in lower case and punycode, without a trailing dot. Each address has one spelling. */
  readonly host: string;
  readonly isAddress: boolean;
  /** The path and query, beginning with `/`, not canonical yet. */
  readonly path: string;
}

const textLengthMax = 65_536;
const plainUrl =
  /^(?:https?|wss?|ftp):\/\/([a-z0-9](?:[a-z0-9-]|\.(?!\.))*[a-z])(?::\d{1,5})?(\/[\x21\x22\x24-\x7e]*)?$/;
/**
 * The scheme and the slashes behind it. As for the URL parser, slashes may be backslashes, and those of http
 * too many or too few.
 */
const schemeOf = /^(?:https?:[\\/]*|(?:[a-z][a-z0-9+.-]{0,31}:)?[\\/]{2})/i;

/**
 * Splits a URL; undefined where the text is no URL with a host. It is read as http, whatever its scheme, even
 * `hxxp` or none. Scheme, user, port and fragment are left out. Only the first 65,536 characters are read.
 */
export function splitUrl(text: string): SplitUrl | undefined {
  const plain = text.length <= textLengthMax ? plainUrl.exec(text) : null;
  const plainHost = plain?.[1] ?? '';
  if (plain !== null && plainHost.length <= 253 && normaliseHost(plainHost) === plainHost) {
    return { host: plainHost, isAddress: false, path: plain[2] ?? '/' };
  }
  const trimmed = text.slice(0, textLengthMax).trim().replace(schemeOf, '');
  const url = /^[\\/]/.test(trimmed) ? null : URL.parse(`http://${trimmed}`);
  const host = url === null ? undefined : canonicalHost(url.hostname);
  if (url === null || host === undefined) return undefined;
  return { host, isAddress: isIP(host) !== 0, path: url.pathname + url.search };
}

/**
 * Returns the normal form of a host in any spelling, also with superfluous dots; undefined where it is no
 * host.
 */
export function canonicalHost(written: string): string | undefined {
  return normaliseHost(
    written.includes('..') || written.startsWith('.') ? withoutStrayDots(written) : written,
  );
}

const withoutStrayDots = (host: string): string => host.replace(/\.{2,}/g, '.').replace(/^\./, '');

const percent = 0x25;
const slash = 0x2f;

/** Returns a path with query, beginning with `/`, in canonical form. */
export function canonicalPath(path: string): string {
  if (isPlain(path)) return path;
  const mark = path.indexOf('?');
  const [before, query] = mark < 0 ? [path, ''] : [path.slice(0, mark), path.slice(mark + 1)];
  const resolved = resolveSegments(unescaped(before).replaceAll('\\', '/'));
  return escaped(resolved) + (query === '' ? '' : `?${escaped(unescaped(query))}`);
}

/**
 * Tells whether canonicalisation would change nothing. It says no of some texts that would not change either.
 */
function isPlain(path: string): boolean {
  let isQuery = false;
  for (let index = 0; index < path.length; index++) {
    const code = path.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === percent || code === 0x23 || code === 0x5c) return false;
    if (isQuery) continue;
    if (code === 0x3f) isQuery = true;
    else if (code === slash && index > 0) {
      const before = path.charCodeAt(index - 1);
      if (before === slash || before === 0x2e) return false;
    }
  }
  const end = isQuery ? path.indexOf('?') : path.length;
  return path.charCodeAt(0) === slash && path.charCodeAt(end - 1) !== 0x2e && end !== path.length - 1;
}

/**
 * Undoes percent-escapes until there are none. Returns one character for each byte. One pass is enough, since
 * no two escapes overlap. A decoded character is looked at again together with what stands before it. So
 * `%25%32%35` costs no more than its length, however deep its escapes are.
 */
function unescaped(text: string): string {
  if (/^[^%\x80-\uffff]*$/.test(text)) return text;
  const bytes = Buffer.from(text, 'utf8');
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0;
    while (length >= 2 && bytes[length - 2] === percent) {
      const high = hexDigit(bytes[length - 1]);
      const low = hexDigit(byte);
      if (high < 0 || low < 0) break;
      byte = high * 16 + low;
      length -= 2;
    }
    // The byte is written over bytes that were read. The result is never ahead of its source.
    bytes[length++] = byte;
  }
  return bytes.toString('latin1', 0, length);
}

/** Returns a path without `.`, `..` and empty segments. A path that ended in a slash still does. */
function resolveSegments(path: string): string {
  if (path.startsWith('/') && !/\/[./]/.test(path)) return path;
  const segments = path.split('/');
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const last = segments.at(-1) ?? '';
  const isDirectory = kept.length > 0 && (last === '' || last === '.' || last === '..');
  return `/${kept.join('/')}${isDirectory ? '/' : ''}`;
}

const unsafe = /[^\x21\x22\x24\x26-\x7e]/;
const unsafes = new RegExp(unsafe, 'g');

/** Escapes control characters, spaces, `#`, `%` and all that is not ASCII, once. */
const escaped = (bytes: string): string =>
  unsafe.test(bytes)
    ? bytes.replace(unsafes, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
    : bytes;
