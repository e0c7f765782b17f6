import type { ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import { parseDescribed, toAuthority } from '../../core/target.ts';
import { request as plainRequest, secureRequest } from '../../util/plain-http.ts';
import { MalformedMessage } from '../http1/head.ts';
import { ConnectionEnded, timedOut, toExchangeFailure } from './failures.ts';

/*
 * Requests that the gateway and its commands send for themselves: threat feeds, notifications, tokens, the
 * control plane. Calls of agents never go this way. Each request has a connection of its own, no redirect is
 * followed, and nothing is sent twice.
 */

export interface HttpRequest {
  /** URL with `http` or `https`. A user and password in it are sent as basic authentication. */
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Values by name. If two names differ in case alone, the last one counts. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /**
   * Ends the exchange when it is aborted, also while the body is read. The error is then the reason of the
   * signal.
   */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Body in its content coding. Read or destroy it; a cut one fails with a GatewayError. */
  readonly body: Readable;
}

/**
 * Sends a request and resolves with the head of the answer. Rejects with a GatewayError that quotes nothing
 * of the request or the answer, or with the reason of the signal.
 */
export type HttpClient = (request: HttpRequest) => Promise<HttpAnswer>;

/** Opens the connection for a request, with TLS verified where it is https. */
export type Connect = (to: {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}) => Promise<Socket>;

interface HttpClientOptions {
  /**
   * Opens connections. With `unguarded` they go straight to whatever address the URL names, and trust the
   * authorities that Node knows.
   */
  readonly connect: Connect | 'unguarded';
  /** Time without a byte of the answer after which the exchange ends. */
  readonly idleTimeoutMs: number;
}

const headBytesMax = 16_384;

export function createHttpClient({ connect, idleTimeoutMs }: HttpClientOptions): HttpClient {
  return async ({ url, method, headers, body, signal }) => {
    signal?.throwIfAborted();
    const { scheme, host, port, path, userInfo } = parseDescribed(url);
    if (scheme !== 'http' && scheme !== 'https')
      throw new GatewayError('VALIDATION_FAILED', 'The URL is not one of the web.');
    const way = connect === 'unguarded' ? { agent: false } : through(() => connect({ scheme, host, port }));
    // A connection that `connect` opens has its TLS already.
    const request = connect === 'unguarded' && scheme === 'https' ? secureRequest : plainRequest;
    const named = { host: toAuthority(scheme, host, port), ...authorizationOf(userInfo), ...headers };
    let sent: ClientRequest;
    try {
      sent = request({
        ...{ host, port, path, method, maxHeaderSize: headBytesMax, headers: byLowerName(named) },
        ...way,
      });
    } catch (error) {
      // The message quotes the name of a header.
      const { code } = error as NodeJS.ErrnoException;
      throw new GatewayError('INTERNAL', 'The request could not be sent.', {}, coded(code));
    }
    return exchange(sent, body, { signal, idleTimeoutMs });
  };
}

/** Lets Node send a request on a connection of ours. It closes one for a request that was given up meanwhile. */
const through = (open: () => Promise<Socket>): RequestOptions => ({
  createConnection(_options, opened) {
    open().then(
      (socket) => opened(null, socket),
      // The type demands a socket also where there is none.
      (error: Error) => (opened as (error: Error) => void)(error),
    );
    return undefined;
  },
});

const coded = (code: string | undefined): Error => Object.assign(new Error('no request'), { code });

const byLowerName = (headers: HttpRequest['headers']): HttpRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * Returns the field for basic authentication (RFC 7617) with the user and password of a URL; none where it
 * has neither.
 */
function authorizationOf(userInfo: string): Readonly<Record<string, string>> {
  if (userInfo === '') return {};
  const [user = '', password = ''] = userInfo.split(':').map(decoded);
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

function decoded(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    throw new GatewayError(
      'VALIDATION_FAILED',
      'The user or the password in the URL is not percent-encoded.',
    );
  }
}

interface ExchangeOptions {
  readonly signal: AbortSignal | undefined;
  readonly idleTimeoutMs: number;
}

/** Sends a request and resolves with the head of its answer. The body of the answer ends the exchange. */
function exchange(
  sent: ClientRequest,
  content: string | undefined,
  { signal, idleTimeoutMs }: ExchangeOptions,
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  let body: Readable | undefined;
  const fail = (error: unknown): void => {
    const failure = signal?.aborted ? signal.reason : toClientFailure(error, body !== undefined);
    signal?.removeEventListener('abort', fail);
    reject(failure);
    body?.destroy(failure);
    sent.destroy();
  };
  signal?.addEventListener('abort', fail);
  sent.on('error', fail);
  sent.on('socket', (socket) => {
    const onSilence = (): void => {
      // Who reads slowly is not cut off.
      if (body && body.readableLength > 0) socket.setTimeout(idleTimeoutMs);
      else if (socket.connecting) fail(timedOut('did not accept the connection in time'));
      else fail(timedOut(body ? 'stopped in the middle of its answer' : 'did not answer in time'));
    };
    socket.setTimeout(idleTimeoutMs).on('timeout', onSilence);
  });
  sent.on('response', (answer) => {
    const { statusCode: status = 0, headers } = answer;
    const read = new Readable({
      read: () => void answer.resume(),
      destroy(error, done) {
        signal?.removeEventListener('abort', fail);
        sent.destroy();
        done(error);
      },
    });
    body = read;
    // Whoever reads is told by the stream, and nobody has to read what is destroyed.
    read.on('error', () => {});
    answer.on('data', (chunk: Buffer) => {
      if (!read.push(chunk)) answer.pause();
    });
    answer.on('end', () => read.push(null));
    answer.on('error', fail);
    resolve({ status, headers, body: read });
  });
  sent.end(content);
  return promise;
}

/**
 * Returns the failure of a request. `isAnswering` says that the head of the answer was read. Errors of the parser
 * are not kept as causes: they hold the bytes of the answer.
 */
function toClientFailure(error: unknown, isAnswering: boolean): GatewayError {
  const { code = '', syscall } = Object(error) as NodeJS.ErrnoException;
  // For the other side's end, Node has an error that looks like that of the system for a reset.
  const isEnded = code === 'ECONNRESET' && syscall === undefined;
  if (isEnded) return toExchangeFailure(new ConnectionEnded(), isAnswering);
  if (!code.startsWith('HPE_')) return toExchangeFailure(error, isAnswering);
  const malformed =
    code === 'HPE_HEADER_OVERFLOW'
      ? new MalformedMessage('The head of the answer is too long.', true)
      : new MalformedMessage('The answer is not well-formed.');
  return toExchangeFailure(malformed, isAnswering);
}

/** Reads a body to its end. Throws UPSTREAM_PROTOCOL where it is longer than `bytesMax`, or is cut. */
export async function readAnswerBody(body: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax)
      throw new GatewayError(
        'UPSTREAM_PROTOCOL',
        `The answer is too large: it has more than ${bytesMax} bytes.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
