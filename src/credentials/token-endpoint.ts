import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  modifyAssertion,
  PrivateKeyJwt,
} from 'oauth4webapi';
import { GatewayError, problems, toGatewayError } from '../core/errors.ts';
import { parsedObject } from '../util/parsed-json.ts';
import type { SigningKey } from '../util/signing-key.ts';
import { timedOut } from '../wire/client/failures.ts';
import { type HttpClient, readAnswerBody } from '../wire/client/http-client.ts';

/*
 * Fetches access tokens with client credentials (RFC 6749, 4.4). The library oauth4webapi puts the request
 * together. The answer comes from a stranger, so it is read here, where it is bounded. Messages quote nothing
 * of it but the status and the codes of the RFC.
 */

/** The way in which a client proves who it is (RFC 6749, 2.3; RFC 7523, 2.2), with what it needs for that. */
export type ClientProof =
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly clientSecret: string }
  | {
      readonly method: 'private_key_jwt';
      readonly signing: SigningKey;
      readonly keyId: string | undefined;
    };

export interface TokenClient {
  readonly tenantId: string;
  /** The URL of the endpoint: `https`, or `http` where the administrator has written it. */
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly proof: ClientProof;
  readonly scopes: readonly string[];
  readonly audience: string | undefined;
}

export interface AccessToken {
  readonly text: string;
  /** Milliseconds for which it is used, from when it was asked for. */
  readonly validMs: number;
  /**
   * Milliseconds for which the endpoint says that it is valid. It may be shown for longer than it is used.
   */
  readonly toldMs: number;
}

/** Fetches a token. Rejects with CREDENTIAL_UNAVAILABLE, which says why. */
export type FetchToken = (client: TokenClient) => Promise<AccessToken>;

const answerBytesMax = 65_536;
const timeoutMs = 20_000;

export const createTokenFetcher =
  (send: HttpClient): FetchToken =>
  async (client) => {
    const signal = AbortSignal.timeout(timeoutMs);
    let answer: Response;
    try {
      answer = await clientCredentialsGrantRequest(
        // The issuer is the audience of an assertion. Servers expect their token endpoint there (RFC 7523,
        // 3).
        { issuer: client.tokenUrl, token_endpoint: client.tokenUrl },
        { client_id: client.clientId },
        authenticationOf(client),
        parametersOf(client),
        {
          signal,
          [customFetch]: (url, { body, headers }) => exchange(send, url, body, headers, signal),
          // Only an administrator can have written such a URL.
          [allowInsecureRequests]: true,
        },
      );
    } catch (cause) {
      const failure = signal.aborted ? timedOut('did not answer in time') : toGatewayError(cause);
      throw unavailable(`The token endpoint cannot be asked: ${problems[failure.code].title}.`, failure);
    }
    return parseToken(answer.status, Buffer.from(await answer.arrayBuffer()));
  };

function parametersOf({ scopes, audience }: TokenClient): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scopes.length > 0) form.set('scope', scopes.join(' '));
  if (audience !== undefined) form.set('audience', audience);
  return form;
}

/** Statuses whose answers have no body (Fetch, 2.2.3). */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends the request of oauth4webapi. The whole answer is read, to its bound, before anything looks at it. */
async function exchange(
  send: HttpClient,
  url: string,
  form: URLSearchParams,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const { status, body } = await send({
    url,
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/x-www-form-urlencoded',
      'accept-encoding': 'identity',
      'user-agent': 'Postern',
    },
    body: form.toString(),
    signal,
  });
  const bytes = await readAnswerBody(body, answerBytesMax);
  if (status > 599)
    throw new GatewayError('UPSTREAM_PROTOCOL', 'The upstream answered with no status of HTTP.');
  return new Response(bodiless.has(status) ? null : new Uint8Array(bytes), { status });
}

function authenticationOf({ clientId, proof }: TokenClient): ClientAuth {
  if (proof.method === 'private_key_jwt') return signedBy(proof.signing, proof.keyId);
  if (proof.method === 'client_secret_post') return ClientSecretPost(proof.clientSecret);
  const basic = basicOf(clientId, proof.clientSecret);
  // This is not `ClientSecretBasic`, which encodes "-", "_" and "." too: servers that decode nothing would
  // refuse most secrets.
  return (_server, _client, _body, headers) => headers.set('authorization', `Basic ${basic}`);
}

function signedBy({ key: held, algorithm }: SigningKey, kid: string | undefined): ClientAuth {
  // The library names the type of browsers, which lists fewer usages than that of Node.
  const key = held as CryptoKey;
  return PrivateKeyJwt(kid === undefined ? { key } : { key, kid }, {
    [modifyAssertion](header) {
      // Few servers know the newer name of EdDSA (RFC 9864).
      header['alg'] = algorithm;
    },
  });
}

/** Returns the client's own name and password, each as a form writes it (RFC 6749, 2.3.1). */
export const basicOf = (clientId: string, clientSecret: string): string =>
  Buffer.from(`${formText(clientId)}:${formText(clientSecret)}`).toString('base64');

const formText = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

/** Codes of errors that an endpoint answers (RFC 6749, 5.2). */
const errorCodes: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/** Matches what may stand behind the scheme (RFC 6750, 2.1), and what else servers send in practice. */
const tokenText = /^[\x21-\x7e]{1,16384}$/;
/**
 * The lifetime if the answer names none (RFC 6749, 5.1). It is short, since only a 401 ends a token early.
 */
const validSecondsDefault = 300;
const validSecondsMax = 86_400;
/** The time for which a token of unknown lifetime counts as known, longer than it is used. */
const toldSecondsDefault = 3_600;

export function parseToken(status: number, body: Buffer): AccessToken {
  const fields = parsedObject(body.toString());
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

/**
 * Returns the number of seconds, which some servers write as a text; undefined where there is none. Throws
 * CREDENTIAL_UNAVAILABLE for anything else.
 */
function toSeconds(written: unknown): number | undefined {
  if (written === undefined || written === null) return undefined;
  const seconds = typeof written === 'string' && /^\d{1,12}$/.test(written) ? Number(written) : written;
  if (typeof seconds !== 'number' || !(seconds > 0))
    throw unavailable('The token endpoint answered an expires_in that is no number of seconds.');
  return seconds;
}

const unavailable = (detail: string, cause?: unknown): GatewayError =>
  new GatewayError('CREDENTIAL_UNAVAILABLE', detail, {}, cause);
