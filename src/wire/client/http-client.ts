import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Dispatcher, Client as UndiciClient } from 'undici';
import { GatewayError } from '../../core/errors.ts';
import { parseDescribed, toAuthority } from '../../core/target.ts';
import { toClientFailure } from './client-failure.ts';

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
  const options = {
    allowH2: false,
    maxHeaderSize: headBytesMax,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  };
  return async ({ url, method, headers, body = null, signal }) => {
    signal?.throwIfAborted();
    const { scheme, host, port, path, userInfo } = parseDescribed(url);
    if (scheme !== 'http' && scheme !== 'https')
      throw new GatewayError('VALIDATION_FAILED', 'The URL is not one of the web.');
    const connector: UndiciClient.Options['connect'] =
      connect === 'unguarded'
        ? { timeout: idleTimeoutMs }
        : (_options, opened) => {
            // The client closes the connection of a request that was given up meanwhile.
            connect({ scheme, host, port }).then(
              (socket) => opened(null, socket),
              (error: Error) => opened(error, null),
            );
          };
    const origin = `${scheme}://${toAuthority(scheme, host, port)}`;
    // The client is loaded with the first request: many daemons send none.
    const { default: Client } = await import('undici/lib/dispatcher/client.js');
    signal?.throwIfAborted();
    const exchange = new Exchange(new Client(origin, { ...options, connect: connector }), signal);
    const sent = byLowerName({ ...authorizationOf(userInfo), ...headers });
    return exchange.begin({ path, method, headers: sent, body, reset: true });
  };
}

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

/** Runs one request and its answer, as undici tells of them. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #client: UndiciClient;
  readonly #signal: AbortSignal | undefined;
  readonly #answer = Promise.withResolvers<HttpAnswer>();
  readonly #body: Readable;
  #controller: Dispatcher.DispatchController | undefined;
  #isAnswering = false;

  constructor(client: UndiciClient, signal: AbortSignal | undefined) {
    this.#client = client;
    this.#signal = signal;
    this.#body = new Readable({
      read: () => this.#controller?.resume(),
      destroy: (error, done) => {
        this.#end();
        done(error);
      },
    });
    // Whoever reads is told by the stream, and nobody has to read what is destroyed.
    this.#body.on('error', () => {});
  }

  begin(request: Dispatcher.DispatchOptions): Promise<HttpAnswer> {
    this.#signal?.addEventListener('abort', this.#onAbort);
    this.#client.dispatch(request, this);
    return this.#answer.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpAnswer['headers'],
  ): void {
    if (status < 200) return;
    this.#isAnswering = true;
    this.#answer.resolve({ status, headers, body: this.#body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#body.push(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#body.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  readonly #onAbort = (): void => this.#fail(this.#signal?.reason);

  #fail(error: unknown): void {
    const failure = this.#signal?.aborted ? this.#signal.reason : toClientFailure(error, this.#isAnswering);
    this.#answer.reject(failure);
    this.#body.destroy(failure);
  }

  /** Closes the connection, also one that is about to be opened. Does nothing where the exchange is over. */
  #end(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#client.destroy(() => {});
  }
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
