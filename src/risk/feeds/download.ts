import http from 'node:http';
import https from 'node:https';
import type { Duplex, Readable } from 'node:stream';

/** One answer, before any redirect is followed. */
export interface Downloaded {
  readonly status: number;
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * The body as it came, with its content coding. It must be read or destroyed, and fails where the answer is cut.
   */
  readonly body: Readable;
}

export type Download = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  /** Tells whether an administrator has chosen the server, and not another server. */
  isChosen: boolean,
) => Promise<Downloaded>;

/** Without a byte for so long the server is taken for gone. */
const idleTimeoutMs = 30_000;

/** Opens the connection for a URL, with TLS verified where it is https. Where no administrator has chosen it, only to what agents may call. */
export type Connect = (url: string, isChosen: boolean) => Promise<Duplex>;

/** Downloads over connections that `connect` opens, one for each answer. */
export function createDownload(connect: Connect): Download {
  return (url, headers, signal, isChosen) => {
    const { promise, resolve, reject } = Promise.withResolvers<Downloaded>();
    const { get } = url.startsWith('https:') ? https : http;
    const createConnection: http.RequestOptions['createConnection'] = (_options, opened) => {
      // Whoever was aborted meanwhile closes it.
      connect(url, isChosen).then(
        (socket) => opened(null, socket),
        (error: Error) => opened(error, undefined as never),
      );
      return undefined;
    };
    const request = get(url, { headers, signal, timeout: idleTimeoutMs, createConnection });
    request.once('timeout', () => request.destroy(Object.assign(new Error('idle'), { code: 'ETIMEDOUT' })));
    request.once('response', (body) =>
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body }),
    );
    request.on('error', reject);
    return promise;
  };
}
