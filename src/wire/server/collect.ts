import { GatewayError } from '../../core/errors.ts';
import { Gathered } from '../http1/gathered.ts';
import type { BodyRoom } from './body-ledger.ts';

/** Bounds of a body while it is collected. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** Room that the body takes as it grows, and may be refused; undefined where the body is not counted. */
  readonly room?: BodyRoom | undefined;
  /** Time for the body instead of the daemon's. */
  readonly timeoutMs?: number | undefined;
}

/** Collects a body of at most `bytesMax` bytes while it arrives. */
export class BodyCollector {
  readonly #bounds: BodyBounds;
  readonly #gathered: Gathered;
  #receivedBytes = 0;

  /** Throws where `declaredBytes` is too much. It is negative where nothing was declared. */
  constructor(bounds: BodyBounds, declaredBytes: number) {
    this.#bounds = bounds;
    const problem = this.#problemOf(declaredBytes);
    if (problem) throw problem;
    this.#gathered = new Gathered(declaredBytes);
  }

  /** Adds data. Where a bound is passed, returns the error and does not keep the data. */
  add(data: Buffer): GatewayError | undefined {
    this.#receivedBytes += data.length;
    const problem = this.#problemOf(this.#receivedBytes);
    if (!problem) this.#gathered.add(data);
    return problem;
  }

  take(): Buffer {
    return this.#gathered.take();
  }

  #problemOf(bytes: number): GatewayError | undefined {
    const { bytesMax, room } = this.#bounds;
    return bytes > bytesMax ? tooLarge(bytes, bytesMax) : room?.hold(bytes);
  }
}

/**
 * Returns the error for a body over its limit. `actual` is what was declared, or what had come when the limit
 * was passed.
 */
export const tooLarge = (actual: number, limit: number): GatewayError =>
  new GatewayError('PAYLOAD_TOO_LARGE', `The body may have ${limit} bytes.`, {
    actual_bytes: actual,
    limit_bytes: limit,
  });
