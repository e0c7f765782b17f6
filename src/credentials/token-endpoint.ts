import { GatewayError, problems, toGatewayError } from '../core/errors.ts';
import { parseTarget, toAuthority } from '../core/target.ts';
import { ask } from '../wire/client/ask.ts';
import type { Upstream } from '../wire/client/upstream.ts';

/*
 * Fetches access tokens with client credentials (RFC 6749, 4.4). The answer is that of a stranger: it is bounded, and whatever is not
 * what the RFC says is refused. Nothing of it stands in a message but the status and the codes of the RFC.
 */

export interface TokenClient {
  readonly tenantId: string;
  /** `https`, or `http` where the administrator has written it. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  readonly audience: string | undefined;
}

export interface AccessToken {
  readonly text: string;
  /** How long it is used, from when it was asked for. */
  readonly validMs: number;
  /** How long the endpoint says that it is valid: it may be shown for longer than it is used. */
  readonly toldMs: number;
}

/** Rejects with CREDENTIAL_UNAVAILABLE and why. */
export type FetchToken = (client: TokenClient) => Promise<AccessToken>;

const bounds = { bytesMax: 65_536, timeoutMs: 20_000 };

export const createTokenFetcher =
  (upstream: Upstream): FetchToken =>
  async (client) => {
    const asked = await ask(upstream, toTokenRequest(client), bounds).catch((cause: unknown) => {
      const { title } = problems[toGatewayError(cause).code];
      throw unavailable(`The token endpoint cannot be asked: ${title}.`, cause);
    });
    return parseToken(asked.status, asked.body);
  };

/** The client's own name and password, each as a form writes it (RFC 6749, 2.3.1). */
export const basicOf = ({ clientId, clientSecret }: TokenClient): string =>
  Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString('base64');

const formText = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

function toTokenRequest(client: TokenClient) {
  const target = parseTarget(client.tokenUrl);
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (client.scopes.length > 0) form.set('scope', client.scopes.join(' '));
  if (client.audience !== undefined) form.set('audience', client.audience);
  return {
    // A connection of its own: what an agent finds on one must never be the answer to this.
    tenantId: `${client.tenantId} token endpoint`,
    target,
    method: 'POST',
    headers: [
      ...['Host', toAuthority(target.scheme, target.host, target.port)],
      ...['Authorization', `Basic ${basicOf(client)}`],
      ...['Content-Type', 'application/x-www-form-urlencoded'],
      ...['Accept', 'application/json', 'Accept-Encoding', 'identity', 'User-Agent', 'Postern'],
    ],
    body: Buffer.from(form.toString()),
  };
}

/** RFC 6749, 5.2. */
const errorCodes: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/** RFC 6750, 2.1, and what else servers send in practice: all that may stand in the field behind the scheme. */
const tokenText = /^[\x21-\x7e]{1,16384}$/;
/** The lifetime where the answer names none (RFC 6749, 5.1): short, since only a 401 tells that a token has ended. */
const validSecondsDefault = 300;
const validSecondsMax = 86_400;
/** The time for which such a token counts as known, longer than it is used. */
const toldSecondsDefault = 3_600;

export function parseToken(status: number, body: Buffer): AccessToken {
  const fields = parseObject(body);
  if (status !== 200) {
    const error = errorCodes.has(fields?.['error']) ? ` (${fields?.['error']})` : '';
    throw unavailable(`The token endpoint answered ${status}${error}.`);
  }
  if (!fields) throw unavailable('The token endpoint answered no object of JSON.');
  const { access_token: text, token_type: type, expires_in: seconds } = fields;
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw unavailable('The token endpoint answered a token of another type than Bearer.');
  if (typeof text !== 'string' || !tokenText.test(text))
    throw unavailable('The token endpoint answered no token that can be sent in a header.');
  const told = toSeconds(seconds);
  return {
    text,
    validMs: Math.min(told ?? validSecondsDefault, validSecondsMax) * 1000,
    toldMs: (told ?? toldSecondsDefault) * 1000,
  };
}

/** Some servers write the number as a text. */
function toSeconds(written: unknown): number | undefined {
  if (written === undefined || written === null) return undefined;
  const seconds = typeof written === 'string' && /^\d{1,12}$/.test(written) ? Number(written) : written;
  if (typeof seconds !== 'number' || !(seconds > 0))
    throw unavailable('The token endpoint answered an expires_in that is no number of seconds.');
  return seconds;
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // The parser's own message quotes the text.
    return undefined;
  }
}

const unavailable = (detail: string, cause?: unknown): GatewayError =>
  new GatewayError('CREDENTIAL_UNAVAILABLE', detail, {}, cause);
