import { GatewayError } from '../core/errors.ts';
import { type Target, targetWithin } from '../core/target.ts';
import { undoEscapes } from '../util/percent.ts';
import type { Scrub } from '../wire/client/scrub/scrub.ts';
import type { UpstreamRequest } from '../wire/client/upstream.ts';
import { withoutFields } from '../wire/http1/headers.ts';
import { isObjectStore, scopeOfHost } from './aws/endpoint.ts';
import { type AwsKeys, type AwsScope, signatureFields, signRequest } from './aws/sign.ts';
import type { TokenClient } from './token-endpoint.ts';

/** The secrets of a credential, by its type, as the configuration or the vault holds them. */
export type Secret = SentSecret | TokenSecret;

/** A secret that fetches tokens, which are sent in its place. */
interface TokenSecret {
  readonly type: 'oauth2_client_credentials';
  readonly client: Omit<TokenClient, 'tenantId'>;
}

/** A secret that is sent, or signed with, as it is. */
type SentSecret =
  | { readonly type: 'bearer'; readonly value: string }
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | { readonly type: 'headers'; readonly values: ReadonlyMap<string, string> }
  | { readonly type: 'query'; readonly parameter: string; readonly value: string }
  | AwsSecret;

/** An AWS key pair. The host tells what is undefined in the scope. */
interface AwsSecret {
  readonly type: 'aws_sigv4';
  readonly keys: AwsKeys;
  readonly scope: { readonly [K in keyof AwsScope]: string | undefined };
}

/** A request before it is made ready to send. `headers` is flat. */
interface Injectable {
  readonly target: Target;
  readonly headers: readonly string[];
}

/** The change that a request goes out with, and what is looked for in the answer. */
export interface Injection extends Pick<ReadyCredential, 'apply' | 'sign' | 'onStatus'> {
  readonly scrub: Scrub;
  readonly mayBeStored: boolean;
}

/** A credential that is ready to be sent. */
export interface ReadyCredential {
  /** Returns the request with the credential and without the agent's own. The answer to it can be read. */
  apply(request: Injectable): Injectable;
  /** Signs the request as it is about to go out. Throws where it cannot be signed. */
  sign?(request: UpstreamRequest): UpstreamRequest;
  /** Takes note of the status that the upstream answered. */
  onStatus?(status: number): void;
  /**
   * Tells whether answers of a host may be parts, or compressed, as somebody has stored them. That is so for
   * objects of S3, which shows the credential in its errors at most. Other answers must be whole and
   * readable.
   */
  mayBeStored?(host: string): boolean;
  /** Texts that no answer may show. */
  readonly secrets: readonly string[];
}

/**
 * Fields that are not sent on, so that the answer can be read. It must come without a coding that would have
 * to be undone. It must also come whole, since the agent could choose parts that carry the secret in pieces.
 */
const ofReading = [
  ...['accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding'],
  ...['range', 'if-range', 'request-range', 'x-ms-range'],
];

export function toReadyCredential(secret: SentSecret, now: () => number = Date.now): ReadyCredential {
  if (secret.type === 'aws_sigv4') return toSigner(secret, now);
  const headers = headersOf(secret);
  const replaced = new Set([...ofReading, 'authorization', ...[...headers.keys()].map(toFieldName)]);
  const flat = [...headers].flat();
  return {
    secrets: secretsOf(secret, headers),
    apply: ({ target, headers: sent }) => ({
      target: secret.type === 'query' ? withParameter(target, secret.parameter, secret.value) : target,
      headers: [...withoutFields(sent, isOneOf(replaced)), 'Accept-Encoding', 'identity', ...flat],
    }),
  };
}

const notReadable: ReadonlySet<string> = new Set(ofReading);

/** Returns the request with one change: its answer can be read. */
export const askReadable = ({ target, headers }: Injectable): Injectable => ({
  target,
  headers: [...withoutFields(headers, isOneOf(notReadable)), 'Accept-Encoding', 'identity'],
});

/** Returns a name for comparison: for some servers `X_Api_Key` is `X-Api-Key` (RFC 3875, 4.1.18). */
const toFieldName = (name: string): string => name.toLowerCase().replaceAll('_', '-');

const isOneOf =
  (names: ReadonlySet<string>) =>
  (name: string): boolean =>
    names.has(toFieldName(name));

type PlainSecret = Exclude<SentSecret, AwsSecret>;

function headersOf(secret: PlainSecret): ReadonlyMap<string, string> {
  switch (secret.type) {
    case 'bearer':
      return new Map([['Authorization', `Bearer ${secret.value}`]]);
    case 'basic':
      return new Map([['Authorization', `Basic ${basicToken(secret.username, secret.password)}`]]);
    case 'headers':
      return secret.values;
    case 'query':
      return new Map();
  }
}

/** Returns the credentials of the scheme Basic (RFC 7617, 2). */
const basicToken = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`, 'latin1').toString('base64');

/** Returns the texts of a secret that an answer must not show. */
function secretsOf(secret: PlainSecret, headers: ReadonlyMap<string, string>): string[] {
  if (secret.type === 'query') return [secret.value];
  const sent = [...headers].flatMap(([name, value]) => (isPlain.test(name) ? [] : secretsIn(value)));
  return secret.type === 'basic' ? [...sent, secret.password] : sent;
}

/** Matches names of a credential's headers that are not secret: `2022-11-28` stands in every other answer. */
const isPlain = /^(?:accept(?:-.*)?|content-type|user-agent|.*-version)$/i;

/** The least number of characters of a part that is searched for alone. */
const partLengthMin = 8;
const word = /^[A-Za-z_-]+$/;

/**
 * Returns a value and its parts, any of which may come back alone. The scheme and the names in `Token
 * user=bot, token="abc"` are no parts, since they stand elsewhere, too.
 */
function secretsIn(value: string): string[] {
  const tokens = value.split(/[ ;,"']+/).filter((it) => it !== '');
  const parts = tokens.flatMap((token, at) => {
    const isLast = at === tokens.length - 1;
    const namesNext = !isLast && (at === 0 || token.endsWith('='));
    const pieces = token.split('=').filter((it) => it !== '');
    return pieces.filter((it, i) => !((namesNext || i + 1 < pieces.length) && word.test(it)));
  });
  const [, behindScheme = value] = /^[\w-]+ +(.+)$/.exec(value) ?? [];
  return [value, behindScheme, ...parts.filter((it) => it.length >= partLengthMin), ...inBasic(value)];
}

/** Returns the pair in an Authorization of the scheme Basic (RFC 7617, 2), and the password in it. */
function inBasic(value: string): string[] {
  const [, token] = /^Basic +([^ ]+)$/i.exec(value) ?? [];
  if (token === undefined) return [];
  const pair = Buffer.from(token, 'base64').toString('latin1');
  return [pair, pair.slice(pair.indexOf(':') + 1)];
}

/** The field for the digest of the content. Signing reads the agent's value and then writes a new one. */
const contentHash = 'x-amz-content-sha256';
const notOfAgent: ReadonlySet<string> = new Set([
  'accept-encoding',
  ...signatureFields.filter((it) => it !== contentHash),
]);

function toSigner({ keys, scope }: AwsSecret, now: () => number): ReadyCredential {
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  return {
    secrets: [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])],
    apply: ({ target, headers }) => ({
      target: withoutSignature(target),
      headers: [...withoutFields(headers, isOneOf(notOfAgent)), 'Accept-Encoding', 'identity'],
    }),
    mayBeStored: isObjectStore,
    sign(request) {
      const { target, method, headers, body } = request;
      const told = scopeOfHost(target.host);
      const service = scope.service ?? told?.service;
      const region = scope.region ?? told?.region;
      if (service === undefined || region === undefined)
        throw new GatewayError(
          'CREDENTIAL_UNAVAILABLE',
          'The host does not say for which service and region of AWS the call is to be signed; the credential must.',
        );
      const terms = { keys, scope: { service, region }, nowMs: now() };
      const signed = signRequest({ method, path: target.path, headers, body }, terms);
      return { ...request, headers: [...signed.headers], body: signed.body };
    },
  };
}

/**
 * Parameters that sign a URL ("Authenticating requests: using query parameters", Amazon S3 API reference;
 * also version 2). The agent's signature must not win over ours. Other parameters that begin so say what is
 * to be done.
 */
const signatureParameters: readonly string[] = [
  ...['X-Amz-Algorithm', 'X-Amz-Credential', 'X-Amz-Date', 'X-Amz-Expires', 'X-Amz-SignedHeaders'],
  ...['X-Amz-Signature', 'X-Amz-Security-Token', 'X-Amz-Content-Sha256', 'X-Amz-Region-Set'],
  ...['X-Amz-S3session-Token', 'AWSAccessKeyId', 'Signature', 'SignatureVersion', 'SignatureMethod'],
].map((it) => it.toLowerCase());

function withoutSignature(target: Target): Target {
  const { scheme, host, port, path } = target;
  const mark = path.indexOf('?');
  if (mark < 0) return target;
  const pairs = path.slice(mark + 1).split('&');
  const isOfSignature = (pair: string): boolean =>
    signatureParameters.includes(decode(pair.split('=', 1)[0] ?? '').toLowerCase());
  const kept = pairs.filter((it) => !isOfSignature(it));
  if (kept.length === pairs.length) return target;
  const query = kept.length === 0 ? '' : `?${kept.join('&')}`;
  return targetWithin(scheme as 'http' | 'https', host, port, path.slice(0, mark) + query);
}

/** Puts the parameter first and alone: of two with one name, servers take the first or the last. */
function withParameter(target: Target, name: string, value: string): Target {
  const { scheme, host, port, path } = target;
  const mark = path.indexOf('?');
  const kept =
    mark < 0
      ? []
      : path
          .slice(mark + 1)
          .split('&')
          .filter((pair) => !names(pair, name));
  const query = [
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
    ...kept.filter((it) => it !== ''),
  ];
  const whole = `${mark < 0 ? path : path.slice(0, mark)}?${query.join('&')}`;
  return targetWithin(scheme as 'http' | 'https', host, port, whole);
}

/** Tells whether a pair has the name. Some servers take `;` for `&`, or `name[]` for a list of that name. */
const names = (pair: string, name: string): boolean =>
  pair.split(';').some((it) => {
    const written = decode(it.split('=', 1)[0] ?? '');
    const list = written.split('[', 1)[0] ?? '';
    return [written, list].some((text) => toParameter(text) === toParameter(name));
  });

/**
 * Returns a name for comparison. ASP.NET ignores case. PHP ends a name at a NUL, and takes `.`, blanks and `[`
 * for `_` ("Variables from external sources", PHP manual).
 */
const toParameter = (name: string): string =>
  (name.split('\0', 1)[0] ?? '').replace(/[ .[]/g, '_').toLowerCase();

const decode = (text: string): string => undoEscapes(undoEscapes(text.replaceAll('+', ' '))).trim();
