import type { Socket } from 'node:net';
import { GatewayError } from '../../../core/errors.ts';
import { normaliseHost, toAuthority } from '../../../core/target.ts';
import { MalformedMessage } from '../../http1/head.ts';
import { ResponseHeadReader } from '../../http1/response-head-reader.ts';
import { toExchangeFailure } from '../failures.ts';

/*
 * A parent proxy. All calls leave as tunnels (CONNECT) through it, whatever they carry. So there is one way,
 * and no parent reads a call because its scheme happens to be plain http. The tunnel names the address that
 * was resolved and judged here. A name would be resolved a second time, and nobody would judge that answer.
 * TLS with the upstream goes on inside, under the upstream's name.
 */

export interface ParentOptions {
  /** `http://` or `https://`, with its user and password where it wants them: see `parseParentUrl`. */
  readonly url: string;
  /** Hosts that are dialled past the parent. */
  readonly noProxy: readonly string[];
  /** It is asked for names, resolves them, and must itself refuse those that lead inside. */
  readonly resolves: boolean;
}

/** The address of a parent, and the credentials that it wants. */
export interface ParentAddress {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** The whole field; undefined where the URL has no user. */
  readonly authorization: string | undefined;
}

/**
 * Returns undefined for no proxy's URL: another scheme, a path, a query, control characters, or a
 * colon in the user name (RFC 7617, 2).
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

/** The parent answered, and did not open the tunnel. */
export class TunnelRefused extends GatewayError {
  /** It could not reach this address; another one of the same host may do. */
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
 * Asks a parent, on a connection to it that stands, for a tunnel. Resolves once it is open; bytes that came
 * behind the answer stand in the socket to be read. Rejects, with the socket closed, where the answer is
 * another one, is none, or does not come in time.
 */
export function openTunnel(
  socket: Socket,
  { host, port }: { readonly host: string; readonly port: number },
  { authorization }: Pick<ParentAddress, 'authorization'>,
  timeoutMs: number,
): Promise<Socket> {
  // With its port, whichever that is.
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
