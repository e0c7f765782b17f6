import { GatewayError } from '../errors.ts';
import { Gathered } from '../http1/gathered.ts';

/** A body of at most `bytesMax` bytes, while it arrives. */
export class BodyCollector {
  readonly #bytesMax: number;
  readonly #gathered: Gathered;
  #receivedBytes = 0;

  /** `declaredBytes` is at most `bytesMax`; negative where nothing was declared. */
  constructor(bytesMax: number, declaredBytes: number) {
    this.#bytesMax = bytesMax;
    this.#gathered = new Gathered(declaredBytes);
  }

  get isOver(): boolean {
    return this.#receivedBytes > this.#bytesMax;
  }

  /** What passes the limit is counted and not kept. */
  add(data: Buffer): void {
    this.#receivedBytes += data.length;
    if (!this.isOver) this.#gathered.add(data);
  }

  take(): Buffer {
    return this.#gathered.take();
  }

  tooLarge(): GatewayError {
    return tooLarge(this.#receivedBytes, this.#bytesMax);
  }
}

/** `actual` is what was declared, or what had come when the limit was passed. */
export const tooLarge = (actual: number, limit: number): GatewayError =>
  new GatewayError('PAYLOAD_TOO_LARGE', `The body may have ${limit} bytes.`, {
    actual_bytes: actual,
    limit_bytes: limit,
  });
