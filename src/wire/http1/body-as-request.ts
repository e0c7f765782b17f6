import { GatewayError } from '../../core/errors.ts';
import { token } from './field.ts';

/*
 * Bodies that a server may take for requests. There are servers that ignore the body of a GET, and some paths
 * of some servers ignore the body of any request. What a server has not read stands at the front of the
 * connection, and it is answered as the next request, which nobody has judged. So a connection on which that
 * may happen is asked to end with the answer. A body that begins like a request is refused where servers
 * expect none. A proxy in front of such a server would hand it on over a connection that stays.
 */

/** Methods whose bodies servers read. */
const bodyMethods: ReadonlySet<string> = new Set([
  ...['POST', 'PUT', 'PATCH', 'QUERY', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'],
]);
/** Methods whose bodies may begin like a request, as captures and lessons do. */
const textMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** Bytes that are searched for a request line. Servers take no longer line for one. */
const lineBytesMax = 65_536;
/** Bytes of blanks and empty lines that are skipped. */
const skippedBytesMax = 65_536;
const cr = 0x0d;
const lf = 0x0a;
const tab = 0x09;
const space = 0x20;
/** Tells for each byte whether a method may have it. Servers take methods that nobody knows, of any length. */
const isOfMethod = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(token.test(String.fromCharCode(byte))),
);
/** Matches a request line of any version. That of HTTP/0.9 names no version, and has no method but GET. */
const requestLine = /^\S+[ \t][^\r\n]*?HTTP\/\d|^GET[ \t]+[^ \t\r\n]+[ \t]*(?:[\r\n]|$)/i;

/** Tells whether a server may leave the body unread, and then take it for another request. */
export const mayBeUnread = (method: string, body: Buffer): boolean =>
  !bodyMethods.has(method) || beginsLikeRequest(body);

/** Returns why a body must not go with its method; undefined where it may. */
export const whyHidesRequest = (method: string, body: Buffer): GatewayError | undefined =>
  body.length > 0 && !textMethods.has(method) && beginsLikeRequest(body)
    ? new GatewayError(
        'VALIDATION_FAILED',
        `The body begins like another request, which servers that read no body of ${method} would answer.`,
      )
    : undefined;

/**
 * Tells whether a server may find a request at the start of a body. Servers skip empty lines before a
 * request, and some skip blanks. Nobody sends `skippedBytesMax` of them, and what stands behind so many is
 * not looked at: the answer is true.
 */
function beginsLikeRequest(body: Buffer): boolean {
  const startMax = Math.min(body.length, skippedBytesMax);
  let start = 0;
  while (start < startMax && isSkipped(body[start] as number)) start++;
  if (start === skippedBytesMax) return true;
  const lineEnd = Math.min(body.length, start + lineBytesMax);
  let end = start;
  while (end < lineEnd && isOfMethod[body[end] as number] === 1) end++;
  // Nearly no body begins with a word and a blank.
  const mayBeMethod = end > start && end < lineEnd && isBlank(body[end] as number);
  return mayBeMethod && requestLine.test(body.toString('latin1', start, lineEnd));
}

const isBlank = (byte: number): boolean => byte === space || byte === tab;
const isSkipped = (byte: number): boolean => byte === cr || byte === lf || isBlank(byte);
