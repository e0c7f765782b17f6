import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';

/** One answer, before any redirect is followed. */
export interface Downloaded {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it came, with its content coding on. Must be read or destroyed. It fails where the answer is cut. */
  readonly body: Readable;
}

export type Download = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Downloaded>;

/** Without a byte for so long the server is taken for gone. */
const idleTimeoutMs = 30_000;

/** Downloads straight from the network, with certificates verified against `roots` (PEM), or else against Node's own. */
export function createDownload(roots?: readonly string[]): Download {
  const tls = {
    // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(roots === undefined ? {} : { ca: [...roots] }),
  } as const;

  return (url, headers, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Downloaded>();
    const options = { headers, signal, agent: false, timeout: idleTimeoutMs };
    const request = url.startsWith('https:')
      ? https.get(url, { ...options, ...tls })
      : http.get(url, options);
    request.once('timeout', () => request.destroy(Object.assign(new Error('idle'), { code: 'ETIMEDOUT' })));
    request.once('response', (body) =>
      resolve({ status: body.statusCode ?? 0, headers: body.headers, body }),
    );
    request.on('error', reject);
    return promise;
  };
}
