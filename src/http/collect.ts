import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';

const empty = Buffer.alloc(0);
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

/** The client holds its body back (RFC 9110, 10.1.1): it is asked for when `collect` begins, and never where a refusal comes first. */
export function holdContinue(request: IncomingMessage, response: ServerResponse): void {
  awaitingContinue.set(request, response);
}

/** Exactly one of the two is called, once; none when the client leaves before its body is there. */
export interface Collected {
  done(body: Buffer): void;
  failed(error: GatewayError): void;
}

/**
 * Collects a body of at most `bytesMax` bytes and reads no further: a declared length over the limit is refused before the first byte, an
 * undeclared one at the byte that passes it. A body that arrives in one piece is not copied.
 */
export function collect(
  request: IncomingMessage,
  declared: number,
  bytesMax: number,
  { done, failed }: Collected,
): void {
  if (declared > bytesMax) {
    request.pause();
    failed(tooLarge(declared, bytesMax));
    return;
  }
  awaitingContinue.get(request)?.writeContinue();
  let first: Buffer = empty;
  let chunks: Buffer[] | undefined;
  let received = 0;
  const stop = (): void => {
    request.off('data', onData);
    request.off('end', onEnd);
    request.pause();
  };
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > bytesMax) {
      stop();
      failed(tooLarge(received, bytesMax));
    } else if (chunks) chunks.push(chunk);
    else if (first === empty) first = chunk;
    else chunks = [first, chunk];
  };
  const onEnd = (): void => done(chunks ? Buffer.concat(chunks, received) : first);
  request.on('data', onData);
  request.on('end', onEnd);
}

const tooLarge = (actual: number, limit: number): GatewayError =>
  new GatewayError('PAYLOAD_TOO_LARGE', `The body may have ${limit} bytes.`, {
    actual_bytes: actual,
    limit_bytes: limit,
  });
