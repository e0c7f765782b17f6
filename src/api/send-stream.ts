import { GatewayError } from '../core/errors.ts';
import type { Answer } from '../wire/http1/answer.ts';
import type { RawAnswer, StreamedAnswer } from './route.ts';

/** Milliseconds for which a client may take nothing. Then it has gone, as far as anybody can tell. */
const stallMsMax = 60_000;
const pieceBytes = 65_536;

/**
 * Writes a streamed answer as fast as the client reads it, and no faster. Resolves when all is written, or
 * nobody waits for it any more; rejects where it cannot be made whole. `pieces` is ended in any case.
 */
export async function sendStream(
  answer: Answer,
  { contentType, pieces, fields }: StreamedAnswer,
  signal: AbortSignal,
  stallMs = stallMsMax,
): Promise<void> {
  const source = pieces[Symbol.asyncIterator]();
  const room = roomIn(answer, stallMs);
  try {
    // The first piece comes before the head, so that its failure is still a problem with a status.
    let next = await source.next();
    if (signal.aborted) return;
    answer.writeHead(200, [...headOf(contentType), ...fields]);
    for (; !next.done && !signal.aborted; next = await source.next())
      if (next.value !== '' && !answer.write(Buffer.from(next.value))) await room();
    if (!signal.aborted) answer.end();
  } finally {
    await source.return?.();
  }
}

/**
 * Writes a whole answer as fast as the client reads it. Resolves when all is written or the client has left;
 * rejects where the client stalls.
 */
export async function sendWhole(
  answer: Answer,
  { status, body, contentType, fields }: RawAnswer,
): Promise<void> {
  if (answer.destroyed) return;
  // An answer without content has no length either (RFC 9110, 8.6).
  const head = status === 204 ? plainHead : [...headOf(contentType), 'Content-Length', String(body.length)];
  answer.writeHead(status, [...head, ...fields]);
  if (body.length > pieceBytes) {
    const room = roomIn(answer, stallMsMax);
    for (let at = 0; at < body.length && !answer.destroyed; at += pieceBytes)
      if (!answer.write(body.subarray(at, at + pieceBytes))) await room();
    answer.end();
  } else answer.end(body);
}

const plainHead = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const;

const headOf = (contentType: string): readonly string[] => ['Content-Type', contentType, ...plainHead];

/**
 * Returns a function that waits for room. The wait ends when all is written or the client has left; it
 * rejects where the client stalls.
 */
function roomIn(answer: Answer, stallMs: number): () => Promise<void> {
  let wake: (() => void) | undefined;
  // The listeners are added once for all waits, since a long answer has thousands of them.
  const onRoom = (): void => wake?.();
  answer.on('drain', onRoom);
  answer.once('close', onRoom);
  return async () => {
    if (answer.destroyed) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = setTimeout(
      () => reject(new GatewayError('GATEWAY_BUSY', 'The client does not read its answer.')),
      stallMs,
    );
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  };
}
