import type { Socket } from 'node:net';
import { GatewayError } from '../../../core/errors.ts';
import { normaliseHost, toAuthority } from '../../../core/target.ts';
import { MalformedMessage } from '../../http1/head.ts';
import { ResponseHeadReader } from '../../http1/response-head-reader.ts';
import { toExchangeFailure } from '../failures.ts';

/*
 * A parent proxy. All calls leave as tunnels (CONNECT) through it, whatever they carry. So there is one way,
 * and no parent reads a call because its scheme happens to be plain http. The tunnel names the address that
 * was resolved and judged here, unless the parent is set to resolve names. A name would be resolved a second
 * time, and nobody would judge that answer. TLS with the upstream goes on inside, under the upstream's name.
 */

export interface ParentOptions {
  /**
   * URL of the parent (`http://` or `https://`), with user and password where it wants them: see
   * `parseParentUrl`.
   */
  readonly url: string;
  /** Hosts that are dialled past the parent, in the form of `no-proxy.ts`. */
  readonly noProxy: readonly string[];
  /**
   * Tells whether the parent is asked for names. It then resolves them, and must itself refuse those that
   * lead inside.
   */
  readonly resolves: boolean;
}

/** The address of a parent, and the credentials that it wants. */
export interface ParentAddress {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; undefined where the URL has no user. */
  readonly authorization: string | undefined;
}

/**
 * Parses the URL of a proxy. Returns undefined where it is none: for another scheme, a path, a query, control
 * characters, or a colon in the user name (RFC 7617, 2).
 */
export function parseParentUrl(text: string): ParentAddress | undefined {
  const url = /[\s\0]/.test(text) ? null : URL.parse(text);
  const scheme = url?.protocol.slice(0, -1);
  if (!url || (scheme !== 'http' && scheme !== 'https')) return undefined;
  if (url.pathname !== '/' || url.search || url.hash) return undefined;
  const host = normaliseHost(url.hostname);
  const port = url.port === '' ? (scheme === 'http' ? 80 : 443) : Number(url.port);
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (host === undefined || port < 1 || user === undefined || password === undefined) return undefined;
  if (user.includes(':')) return undefined;
  const isAnonymous = user === '' && password === '';
  const authorization = isAnonymous
    ? undefined
    : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return { scheme, host, port, authorization };
}

function decoded(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text);
    return /\p{Cc}/u.test(plain) ? undefined : plain;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Says that the parent answered, and did not open the tunnel. */
export class TunnelRefused extends GatewayError {
  /** Tells whether the parent could not reach this address. It may reach another one of the same host. */
  readonly isOfAddress: boolean;

  constructor(status: number) {
    const isTimeout = status === 504;
    super(isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_UNREACHABLE', whyRefused(status));
    this.isOfAddress = status >= 502 && status <= 504;
  }
}

function whyRefused(status: number): string {
  if (status === 407) return 'The parent proxy does not accept the credentials of upstream.proxy (407).';
  if (status === 504) return 'The parent proxy did not reach the upstream in time (504).';
  if (status === 502 || status === 503) return `The parent proxy cannot reach the upstream (${status}).`;
  return `The parent proxy refuses the connection (${status}).`;
}

/**
 * Asks a parent for a tunnel, on a connection to it that stands. Resolves once the tunnel is open; bytes that
 * came behind the answer stand in the socket to be read. Rejects, with the socket closed, where the parent
 * refuses, sends no HTTP, or does not answer in time.
 */
export function openTunnel(
  socket: Socket,
  { host, port }: { readonly host: string; readonly port: number },
  { authorization }: Pick<ParentAddress, 'authorization'>,
  timeoutMs: number,
): Promise<Socket> {
  // The authority names the port, even where it is the default one.
  const authority = toAuthority('', host, port);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const reader = new ResponseHeadReader();
  const timer = setTimeout(
    () => fail(new GatewayError('UPSTREAM_TIMEOUT', 'The parent proxy did not answer in time.')),
    timeoutMs,
  );
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onEnd).off('error', fail).off('close', onEnd);
  };
  const fail = (error: unknown): void => {
    settle();
    socket.destroy();
    reject(toTunnelFailure(error));
  };
  const onEnd = (): void =>
    fail(new GatewayError('UPSTREAM_UNREACHABLE', 'The parent proxy closed the connection.'));
  const onReadable = (): void => {
    try {
      for (let chunk: Buffer | null = socket.read(); chunk; chunk = socket.read()) {
        const head = reader.read(chunk);
        if (!head) continue;
        // Length and coding of a 2xx answer mean nothing here (RFC 9110, 9.3.6).
        if (head.status >= 300) throw new TunnelRefused(head.status);
        settle();
        if (reader.rest.length > 0) socket.unshift(reader.rest);
        resolve(socket);
        return;
      }
    } catch (error) {
      fail(error);
    }
  };
  socket.on('readable', onReadable).on('end', onEnd).on('error', fail).on('close', onEnd);
  const credentials = authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`);
  return promise;
}

function toTunnelFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof MalformedMessage)
    return new GatewayError('UPSTREAM_UNREACHABLE', 'The answer of the parent proxy is no HTTP.', {}, error);
  const { code } = toExchangeFailure(error, false);
  return code === 'UPSTREAM_TLS'
    ? new GatewayError('UPSTREAM_TLS', 'TLS with the parent proxy failed.', {}, error)
    : new GatewayError('UPSTREAM_UNREACHABLE', 'The parent proxy closed the connection.', {}, error);
}
