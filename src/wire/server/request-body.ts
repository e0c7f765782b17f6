import { type GatewayError, toGatewayError } from '../../core/errors.ts';
import { BodyReader } from '../http1/body.ts';
import { type BodyBounds, BodyCollector } from './collect.ts';
import type { Collected, Receiver } from './exchange.ts';
import { cutShort, toReadingFailure } from './request-problems.ts';

/**
 * Reads the body of a request on an `AgentConnection`. Nothing of it is read before somebody collects or
 * receives it.
 */
export class RequestBody {
  readonly #declaredBytes: number;
  readonly #reader: BodyReader;
  #collector: BodyCollector | undefined;
  #problem: GatewayError | undefined;
  #into: Collected | undefined;
  #timeoutMs: number | undefined;
  #receiver: Receiver | undefined;

  /** Reads a body of `length` bytes, or one that is `chunked`. */
  constructor(length: number) {
    this.#declaredBytes = length;
    this.#reader = new BodyReader(length);
  }

  get isWhole(): boolean {
    return this.#reader.isDone;
  }

  /** Returns the time for this body, or undefined where the daemon's time counts. */
  get timeoutMs(): number | undefined {
    return this.#timeoutMs;
  }

  /** Tells whether somebody waits for what is still to come. */
  get isAwaited(): boolean {
    return this.#into !== undefined || this.#receiver !== undefined;
  }

  /** Begins to collect the body. One that is declared too large fails before its first byte. */
  collect(bounds: BodyBounds, into: Collected): void {
    this.#timeoutMs = bounds.timeoutMs;
    try {
      this.#collector = new BodyCollector(bounds, this.#declaredBytes);
      this.#into = into;
    } catch (error) {
      into.failed(toGatewayError(error));
    }
  }

  /** Hands the body on as it comes, in place of `collect`. */
  receive(into: Receiver): void {
    this.#receiver = into;
  }

  /**
   * Reads a part of the body. Returns where the body ended, or `bytes.length`. If the body is whole,
   * `deliver` comes next.
   */
  read(bytes: Buffer): number {
    let end = bytes.length;
    try {
      end = this.#reader.read(bytes, 0, this.#onData);
    } catch (error) {
      this.fail(toReadingFailure(error));
      return end;
    }
    if (this.#problem) this.fail(this.#problem);
    return end;
  }

  deliver(): void {
    const into = this.#into;
    const receiver = this.#receiver;
    this.#into = undefined;
    this.#receiver = undefined;
    if (this.#collector) into?.done(this.#collector.take());
    receiver?.ended();
  }

  fail(error: GatewayError): void {
    const into = this.#into ?? this.#receiver;
    this.#drop();
    into?.failed(error);
  }

  /**
   * Drops the body of a client that has left. Who collects is not told. Who receives is told, having begun
   * with what came.
   */
  abandon(): void {
    const receiver = this.#receiver;
    this.#drop();
    receiver?.failed(cutShort());
  }

  #drop(): void {
    this.#into = undefined;
    this.#receiver = undefined;
    this.#collector = undefined;
  }

  readonly #onData = (data: Buffer): void => {
    if (this.#receiver) this.#receiver.data(data);
    else this.#problem ??= this.#collector?.add(data);
  };
}
