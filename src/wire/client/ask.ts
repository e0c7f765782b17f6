import { GatewayError } from '../../core/errors.ts';
import type { Answer } from '../http1/answer.ts';
import type { Upstream, UpstreamRequest } from './upstream.ts';

/** An answer to the gateway itself. */
interface Asked {
  readonly status: number;
  readonly body: Buffer;
}

export interface AskBounds {
  readonly bytesMax: number;
  /** From the question to the end of the answer. */
  readonly timeoutMs: number;
}

/**
 * Asks an upstream on the gateway's own behalf: by the same guard, roots and deadlines as calls, and no redirect is followed. Rejects with
 * the failure of the upstream, with UPSTREAM_TIMEOUT, or with UPSTREAM_PROTOCOL where the answer is longer than `bytesMax` or is cut off.
 */
export function ask(upstream: Upstream, request: UpstreamRequest, bounds: AskBounds): Promise<Asked> {
  const { promise, resolve, reject } = Promise.withResolvers<Asked>();
  const response = new KeptAnswer(bounds.bytesMax);
  const forwarding = upstream.forward(request, {
    response,
    extraHeaders: [],
    onError: reject,
    onEnd: () => response.settle(resolve, reject),
  });
  const timer = setTimeout(() => {
    reject(new GatewayError('UPSTREAM_TIMEOUT', 'The upstream did not answer in time.'));
    forwarding.abort();
  }, bounds.timeoutMs);
  return promise.finally(() => clearTimeout(timer));
}

/** Collects an answer that goes to no client. */
class KeptAnswer implements Answer {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  readonly chunkedEncoding = false;
  readonly #bytesMax: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #status = 0;
  #onClose: (() => void) | undefined;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  writeHead(status: number): void {
    this.#status = status;
    this.headersSent = true;
  }

  flushHeaders(): void {}

  write(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bytesMax) this.destroy();
    else this.#chunks.push(chunk);
    return true;
  }

  end(chunk?: Buffer): void {
    if (chunk) this.write(chunk);
    this.writableEnded = !this.destroyed;
  }

  addTrailers(): void {}

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#onClose?.();
  }

  on(): void {}
  off(): void {}

  once(_event: 'close', listener: () => void): void {
    this.#onClose = listener;
  }

  settle(resolve: (asked: Asked) => void, reject: (error: GatewayError) => void): void {
    if (this.writableEnded) resolve({ status: this.#status, body: Buffer.concat(this.#chunks) });
    else {
      const isTooLong = this.#bytes > this.#bytesMax;
      const detail = isTooLong ? `has more than ${this.#bytesMax} bytes` : 'was cut off';
      reject(new GatewayError('UPSTREAM_PROTOCOL', `The answer of the upstream ${detail}.`));
    }
  }
}
