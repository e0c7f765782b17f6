import { isSessionCookie } from '../../core/session-cookie.ts';
import { isNamed } from './field.ts';
import { foldedName, isSameFolded } from './folded-name.ts';
import type { ResponseHead } from './head.ts';

export { fieldOf } from './field.ts';

/*
 * Heads as they pass through a gateway: flat [name, value, …], in their order and casing, without the fields
 * of one connection (RFC 9110, 7.6.1).
 */

/**
 * Holds field names, and finds them in any casing and with any sign for `-`, as servers of CGI take them. A
 * look at length and first letter spares nearly all other names the folding: this runs for every field.
 */
class NameSet {
  readonly #names: ReadonlySet<string>;
  readonly #looks: ReadonlySet<number>;

  constructor(...names: string[]) {
    this.#names = new Set(names);
    this.#looks = new Set(names.map(lookOf));
  }

  has(name: string): boolean {
    return this.#looks.has(lookOf(name)) && this.#names.has(foldedName(name));
  }
}

/** Returns a number for length and first letter. It is the same in both casings, which a higher bit tells apart. */
const lookOf = (name: string): number => name.length * 32 + (name.charCodeAt(0) & 31);

const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

/**
 * Fields of a request that are not passed on as they came. `host` and `content-length` are made anew.
 * `expect` was answered by the gateway, which reads the body itself.
 */
const notToUpstream = new NameSet(...hopByHop, 'host', 'content-length', 'expect');

/**
 * Fields of an answer that are not passed on. `alt-svc` would lead the agent to the upstream's other ports
 * and protocols, past the gateway (RFC 7838, 2). By `proxy-status` the gateway says why a call failed (RFC
 * 9209), and an upstream could say so in the gateway's name.
 */
const notToClient = new NameSet(...hopByHop, 'alt-svc', 'proxy-status');

/**
 * Fields that are dropped from trailers: what frames, routes or guards a message must come before it (RFC
 * 9110, 6.5.1).
 */
const notInTrailers = new NameSet(
  ...[
    'content-length',
    'content-type',
    'content-encoding',
    'content-range',
    'host',
    'cache-control',
    'location',
  ],
  ...['set-cookie', 'authorization', 'www-authenticate', 'age', 'expires', 'date', 'vary', 'retry-after'],
);

/** Lists to which every hop appends (RFC 9110, 7.6.3). Our entry beside theirs is no contradiction. */
const appended = new NameSet('via');

/**
 * End-to-end fields, which a Connection field has no business to name (RFC 9110, 7.6.1). They stay where it
 * does: else an agent could have us judge one request and send another, or strip what the gateway puts in.
 */
const notConnectionOptions = new NameSet(
  ...['authorization', 'cookie', 'host', 'content-length', 'content-type', 'content-encoding', 'content-md5'],
  ...[
    'content-language',
    'content-location',
    'content-range',
    'content-disposition',
    'content-digest',
    'digest',
  ],
  ...[
    'accept',
    'accept-encoding',
    'accept-language',
    'cache-control',
    'date',
    'forwarded',
    'from',
    'if-match',
  ],
  ...[
    'if-modified-since',
    'if-none-match',
    'if-range',
    'if-unmodified-since',
    'max-forwards',
    'origin',
    'pragma',
  ],
  ...['range', 'referer', 'user-agent', 'via', 'idempotency-key', 'api-key', 'x-api-key', 'x-goog-api-key'],
  ...[
    'private-token',
    'x-amz-date',
    'x-amz-security-token',
    'x-amz-content-sha256',
    'x-http-method-override',
  ],
);

const isProxyField = (name: string): boolean =>
  (name.charCodeAt(0) | 0x20) === 0x70 && foldedName(name.slice(0, 6)) === 'proxy-';

/**
 * Returns the head of a request to an upstream. `raw` is a flat head from `withoutNamedFields`. `authority`
 * becomes the only Host. `via` is a whole entry (`1.1 postern`) and goes behind those that are there.
 */
export function toUpstreamHeaders(raw: readonly string[], authority: string, via: string): string[] {
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (notToUpstream.has(name)) {
      // One item of TE is about the message (RFC 9110, 10.1.4): it says that the sender reads trailers.
      if (name.length === 2 && /(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i.test(value))
        headers.push(name, 'trailers');
    } else if (!isProxyField(name)) {
      headers.push(name, value);
    }
  }
  headers.push('Via', via, 'Host', authority);
  return headers;
}

/**
 * Returns a request's fields without those that Connection names (RFC 9110, 7.6.1), unless they are
 * end-to-end ones. `connection` is all of that field. They are removed before the request is judged. Whoever
 * could have them removed afterwards would have one request judged and another one sent.
 */
export const withoutNamedFields = (fields: readonly string[], connection: string): readonly string[] =>
  withoutOptions(fields, `,${connection},`);

const ownFates: ReadonlySet<string> = new Set([',keep-alive,', ',close,']);

/**
 * Removes the fields that Connection names. Nearly always it names none, or says only what becomes of the
 * connection.
 */
function withoutOptions<Fields extends readonly string[]>(headers: Fields, connection: string): Fields {
  if (connection === '' || ownFates.has(connection.toLowerCase())) return headers;
  const names = connection.toLowerCase().split(',');
  const removed = new Set(names.map((name) => name.trim()).filter((name) => !notConnectionOptions.has(name)));
  removed.delete('te');
  return headers.filter(
    (_text, i) => !removed.has((headers[i & ~1] as string).toLowerCase()),
  ) as unknown as Fields;
}

/**
 * Returns the head of an upstream's answer as the client may see it, with `extra` (flat) behind. Upstream
 * fields that are named in `extra`, or begin with `ownPrefix` (lower case), are dropped: only the gateway
 * speaks in its own name. A field of `extra` without a value is not sent itself.
 */
export function toClientHeaders(
  { fields, connection }: Pick<ResponseHead, 'fields' | 'connection'>,
  extra: readonly string[],
  ownPrefix: string,
): string[] {
  const headers: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    const value = fields[i + 1] as string;
    if (!notToClient.has(name) && !isOurs(name, extra, ownPrefix) && !isOwnCookie(name, value))
      headers.push(name, value);
  }
  const sent = withoutOptions(headers, connection);
  for (let i = 0; i + 1 < extra.length; i += 2)
    if (extra[i + 1] !== '') sent.push(extra[i] as string, extra[i + 1] as string);
  return sent;
}

/**
 * Tells whether a field sets the cookie of the console's sessions. Cookies do not know ports, so an upstream
 * whose answers come from this host could sign people in as somebody else.
 */
const isOwnCookie = (name: string, value: string): boolean =>
  isNamed(name, 'set-cookie') && isSessionCookie(value);

/**
 * Returns the trailers of an answer as pairs, by the rules of its head. Fields that only a head may have are
 * dropped.
 */
export function toClientTrailers(
  fields: readonly string[],
  extra: readonly string[],
  ownPrefix: string,
): [string, string][] {
  const trailers: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] as string;
    if (notToClient.has(name) || notInTrailers.has(name) || isOurs(name, extra, ownPrefix)) continue;
    trailers.push([name, fields[i + 1] as string]);
  }
  return trailers;
}

/** Returns a flat head without the fields of one name, given in lower case. */
export const withoutField = (headers: readonly string[], name: string): string[] =>
  withoutFields(headers, (it) => isNamed(it, name));

/** Returns a flat head without the fields of which `isOut` is true. */
export const withoutFields = (
  headers: readonly string[],
  isOut: (name: string, value: string) => boolean,
): string[] => headers.filter((_text, i) => !isOut(headers[i & ~1] as string, headers[i | 1] as string));

function isOurs(name: string, extra: readonly string[], ownPrefix: string): boolean {
  if (
    name.length >= ownPrefix.length &&
    (name.charCodeAt(0) | 0x20) === ownPrefix.charCodeAt(0) &&
    foldedName(name.slice(0, ownPrefix.length)) === foldedName(ownPrefix)
  ) {
    return true;
  }
  for (let i = 0; i < extra.length; i += 2) {
    const own = extra[i] as string;
    if (isSameFolded(own, name)) return !appended.has(name);
  }
  return false;
}
