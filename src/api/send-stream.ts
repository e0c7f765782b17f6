import type { ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { StreamAnswer } from './route.ts';

/** A client that takes nothing for so long has gone, as far as anybody can tell. */
const stallMsMax = 60_000;

/**
 * Writes the answer as fast as the client reads it, and no faster. Resolves when all is written, or nobody waits for it any more; rejects where
 * it cannot be made whole. `pieces` is ended in any case.
 */
export async function sendStream(
  response: ServerResponse,
  { contentType, pieces, fields }: StreamAnswer,
  signal: AbortSignal,
  stallMs = stallMsMax,
): Promise<void> {
  const source = pieces[Symbol.asyncIterator]();
  try {
    // Before the head: what fails here is still a problem with a status.
    let next = await source.next();
    if (signal.aborted) return;
    response.writeHead(200, [...headOf(contentType), ...fields]);
    for (; !next.done && !signal.aborted; next = await source.next())
      if (next.value !== '' && !response.write(next.value)) await room(response, stallMs);
    if (!signal.aborted) response.end();
  } finally {
    await source.return?.();
  }
}

const headOf = (contentType: string): readonly string[] => [
  'Content-Type',
  contentType,
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

/** Until what was written has gone out, or the client has. */
async function room(response: ServerResponse, stallMs: number): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new GatewayError('GATEWAY_BUSY', 'The client does not read its answer.')),
    stallMs,
  );
  response.once('drain', resolve).once('close', resolve);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    response.off('drain', resolve).off('close', resolve);
  }
}
