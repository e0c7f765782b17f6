import { undoEscapes } from '../../util/percent.ts';

/*
 * Makes the canonical request of Signature Version 4 ("Create a signed AWS API request", IAM User Guide;
 * "Signature calculations for the Authorization header", Amazon S3 API reference). All texts have one
 * character for each byte, as in the heads. So the signature covers the bytes that go out.
 */

/**
 * Headers that are not signed: the next hop may change them, or the gateway or the connection puts them in
 * after the signature. AWS's own SDKs leave out the same ones.
 */
const unsigned: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'cache-control',
  'connection',
  'expect',
  'from',
  'keep-alive',
  'max-forwards',
  'pragma',
  'referer',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-amzn-trace-id',
]);

interface CanonicalHeaders {
  /** A line for each header, in the order of their names. */
  readonly lines: string;
  /** The names of the headers, with `;` between them. */
  readonly names: string;
}

/** Returns the canonical headers of a flat head. Fields of one name become a list, in their order. */
export function canonicalHeaders(headers: readonly string[]): CanonicalHeaders {
  const values = new Map<string, string[]>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    if (unsigned.has(name) || name.startsWith('proxy-') || name.startsWith('sec-')) continue;
    const value = (headers[i + 1] as string).replace(/^[\t ]+|[\t ]+$/g, '').replace(/[\t ]+/g, ' ');
    const standing = values.get(name);
    if (standing) standing.push(value);
    else values.set(name, [value]);
  }
  const names = [...values.keys()].sort();
  return { lines: names.map((it) => `${it}:${values.get(it)?.join()}\n`).join(''), names: names.join(';') };
}

/**
 * Returns the canonical path of a request target without its query. S3 takes the path as it is, with each
 * byte escaped once. All other services resolve it and escape it once more, so that `%20` is `%2520`.
 */
export const canonicalAwsPath = (path: string, isS3: boolean): string =>
  isS3 ? escapeBytes(decoded(path)).replaceAll('%2F', '/') : resolved(path).map(escapeBytes).join('/');

/** Returns the segments of a path without empty and dot segments; a slash at the end stays. */
function resolved(path: string): readonly string[] {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  const isFolder = path.endsWith('/') && segments.length > 0;
  return ['', ...segments, ...(isFolder || segments.length === 0 ? [''] : [])];
}

/** Escapes the query anew, ordered by name and then value. A name without a value has an empty one. */
export function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter((it) => it !== '');
  return pairs
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [escapeBytes(decoded(name)), escapeBytes(decoded(value.join('=')))] as const;
    })
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map((pair) => pair.join('='))
    .join('&');
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Escapes all but the unreserved characters of RFC 3986, with hex digits in capitals. */
const escapeBytes = (text: string): string =>
  text.replace(
    /[^A-Za-z0-9\-._~]/g,
    (it) => `%${it.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

/** Undoes escapes, and reads `+` as a space, as AWS does. */
const decoded = (text: string): string => undoEscapes(text.replaceAll('+', ' '));
