import { GatewayError } from '../../core/errors.ts';
import { Gathered } from '../http1/gathered.ts';
import type { BodyRoom } from './body-ledger.ts';

/** Bounds of a body while it is collected. */
export interface BodyBounds {
  readonly bytesMax: number;
  /** The body may have no more than there is place for; undefined where it is not counted. */
  readonly room?: BodyRoom | undefined;
  /** Instead of the daemon's time for a body. */
  readonly timeoutMs?: number | undefined;
}

/** A body of at most `bytesMax` bytes, while it arrives. */
export class BodyCollector {
  readonly #bounds: BodyBounds;
  readonly #gathered: Gathered;
  #receivedBytes = 0;

  /** `declaredBytes` is negative where nothing was declared. Throws at once if it is too much. */
  constructor(bounds: BodyBounds, declaredBytes: number) {
    this.#bounds = bounds;
    const problem = this.#problemOf(declaredBytes);
    if (problem) throw problem;
    this.#gathered = new Gathered(declaredBytes);
  }

  /** Answers why it may not go on; what passes a bound is not kept. */
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

/** `actual` is what was declared, or what had come when the limit was passed. */
export const tooLarge = (actual: number, limit: number): GatewayError =>
  new GatewayError('PAYLOAD_TOO_LARGE', `The body may have ${limit} bytes.`, {
    actual_bytes: actual,
    limit_bytes: limit,
  });
