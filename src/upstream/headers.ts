/*
 * The heads of requests and answers as they go through a gateway: flat [name, value, …], in the order and casing in which they
 * came, without the fields that are about one connection only (RFC 9110, 7.6.1).
 */

/** Field names, found in any casing. A look at the length spares most names the lower-casing: this runs for every field. */
class NameSet {
  readonly #names: ReadonlySet<string>;
  readonly #lengths: number;

  constructor(...names: string[]) {
    this.#names = new Set(names);
    this.#lengths = names.reduce((bits, name) => bits | (1 << name.length), 0);
  }

  has(name: string): boolean {
    const { length } = name;
    return length < 32 && (this.#lengths & (1 << length)) !== 0 && this.#names.has(name.toLowerCase());
  }
}

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
];

/** `host` and `content-length` are made anew; `expect` was answered by us, who have the whole body. */
const notToUpstream = new NameSet(...hopByHop, 'host', 'content-length', 'expect', 'http2-settings');

/** `alt-svc` would lead the agent to the upstream's other ports and protocols, past us (RFC 7838, 2). */
const notToClient = new NameSet(...hopByHop, 'alt-svc');

/** What frames, routes or guards a message must be known before it (RFC 9110, 6.5.1). */
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

/** Lists to which every hop appends (RFC 9110, 7.6.3; RFC 9209, 2): ours beside theirs is no contradiction. */
const appended = new NameSet('via', 'proxy-status');

/**
 * End-to-end fields, which a Connection field has no business to name (RFC 9110, 7.6.1). They stay: else an agent could have us
 * judge one request and send another, or strip what the gateway puts in.
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
  (name.charCodeAt(0) | 0x20) === 0x70 && name.slice(0, 6).toLowerCase() === 'proxy-';

/**
 * The head of a request to an upstream. `raw` is the flat head as received; `authority` becomes its only Host; `via` is a whole
 * Via entry (`1.1 postern`) and goes after those that stand there already. What the client's Connection field names is removed
 * too, unless that is an end-to-end field.
 */
export function toUpstreamHeaders(raw: readonly string[], authority: string, via: string): string[] {
  const headers: string[] = [];
  let options = '';
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (notToUpstream.has(name)) {
      if (name.length === 10 && name.toLowerCase() === 'connection') options += `${value},`;
      // The one thing in TE that is about the message (RFC 9110, 10.1.4): its sender reads trailers.
      if (name.length === 2 && /(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i.test(value))
        headers.push(name, 'trailers');
    } else if (!isProxyField(name)) {
      headers.push(name, value);
    }
  }
  const sent = withoutOptions(headers, options);
  sent.push('Via', via, 'Host', authority);
  return sent;
}

/** Takes out the fields that Connection names. Nearly always it names none, or only the connection's own fate. */
function withoutOptions(headers: string[], connection: string): string[] {
  if (connection === '' || connection === 'keep-alive,' || connection === 'close,') return headers;
  const names = connection.toLowerCase().split(',');
  const removed = new Set(names.map((name) => name.trim()).filter((name) => !notConnectionOptions.has(name)));
  removed.delete('te');
  return headers.filter((_text, i) => !removed.has((headers[i & ~1] as string).toLowerCase()));
}

/** Header values are bytes; latin1 keeps each of them (RFC 9110, 5.5: obs-text). */
const text = (part: Buffer | string): string => (typeof part === 'string' ? part : part.toString('latin1'));

/**
 * The head of an upstream's answer as the client may see it, with `extra` (flat) behind. Upstream fields with the names of
 * `extra`, or beginning with `ownPrefix` (lower case), are dropped: only the gateway speaks in its own name. `raw` is undici's.
 */
export function toClientHeaders(
  raw: readonly (Buffer | string)[],
  extra: readonly string[],
  ownPrefix: string,
): string[] {
  const headers: string[] = [];
  let options = '';
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i] as Buffer | string);
    const value = text(raw[i + 1] as Buffer | string);
    if (notToClient.has(name)) {
      if (name.length === 10 && name.toLowerCase() === 'connection') options += `${value},`;
    } else if (!isOurs(name, extra, ownPrefix)) {
      headers.push(name, value);
    }
  }
  const sent = withoutOptions(headers, options);
  for (const part of extra) sent.push(part);
  return sent;
}

/** The trailers of an answer, as pairs, under the rules of its head and without what may only stand there. */
export function toClientTrailers(
  raw: readonly (Buffer | string)[],
  extra: readonly string[],
  ownPrefix: string,
): [string, string][] {
  const trailers: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = text(raw[i] as Buffer | string);
    if (notToClient.has(name) || notInTrailers.has(name) || isOurs(name, extra, ownPrefix)) continue;
    trailers.push([name, text(raw[i + 1] as Buffer | string)]);
  }
  return trailers;
}

/** A flat head without the fields of one name, given in lower case. */
export const withoutField = (headers: readonly string[], name: string): string[] =>
  headers.filter((_text, i) => (headers[i & ~1] as string).toLowerCase() !== name);

function isOurs(name: string, extra: readonly string[], ownPrefix: string): boolean {
  if (
    name.length >= ownPrefix.length &&
    (name.charCodeAt(0) | 0x20) === ownPrefix.charCodeAt(0) &&
    name.slice(0, ownPrefix.length).toLowerCase() === ownPrefix
  ) {
    return true;
  }
  for (let i = 0; i < extra.length; i += 2) {
    const own = extra[i] as string;
    if (own.length === name.length && own.toLowerCase() === name.toLowerCase()) return !appended.has(name);
  }
  return false;
}
