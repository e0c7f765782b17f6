import { GatewayError } from '../../core/errors.ts';

/*
 * Bodies that a server may take for requests. There are servers that ignore the body of a GET, and some paths
 * of some servers ignore the body of any request. What they have not read stands at the front of their
 * connection, and they answer it as the next request, which nobody has judged. So a connection on which that
 * may happen is asked to end with the answer. A body that begins like a request is refused where servers
 * expect none: a proxy in front of such a server would hand it on over a connection that stays.
 */

/** Servers read the bodies of these methods. */
const bodyMethods: ReadonlySet<string> = new Set([
  ...['POST', 'PUT', 'PATCH', 'QUERY', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'],
]);
/** Texts that begin like a request are sent with these alone, as captures or lessons. */
const textMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

const methodBytesMax = 64;
/** Servers take no longer line for that of a request. */
const lineBytesMax = 65_536;
const skippedBytesMax = 65_536;
const cr = 0x0d;
const lf = 0x0a;
const tab = 0x09;
const space = 0x20;
/** Nearly no body begins so. */
const methodStart = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]/;
/** A request line of any version; that of HTTP/0.9 has none, and no other method. */
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
 * Tells whether a server may find a request at the start of a body. Servers skip empty lines before a request, and
 * some skip blanks. Nobody sends so many that it would take long to look behind them: they are answered with true.
 */
function beginsLikeRequest(body: Buffer): boolean {
  const startMax = Math.min(body.length, skippedBytesMax);
  let start = 0;
  while (start < startMax && isSkipped(body[start] as number)) start++;
  if (start === skippedBytesMax) return true;
  const textTo = (length: number): string => body.toString('latin1', start, start + length);
  return methodStart.test(textTo(methodBytesMax + 1)) && requestLine.test(textTo(lineBytesMax));
}

const isSkipped = (byte: number): boolean => byte === cr || byte === lf || byte === space || byte === tab;
