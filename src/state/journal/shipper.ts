import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallBatch } from '../store.ts';
import type { Segments } from './segments.ts';

interface ShipperOptions {
  readonly ship: (batch: CallBatch) => Promise<number>;
  readonly onError: (error: unknown) => void;
  readonly shipIntervalMs: number;
  readonly shipBatchBytes: number;
}

const backoffMsMax = 10_000;

/** Ships calls from the journal's files to the store, in order, while others write. */
export class Shipper {
  readonly #options: ShipperOptions;
  readonly #segments: Segments;
  #failures = 0;
  /** Tells whether the store has put lines off since this drain began. */
  #hasPutOff = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #draining: Promise<void> | undefined;

  constructor(segments: Segments, options: ShipperOptions) {
    this.#segments = segments;
    this.#options = options;
  }

  /**
   * Begins to ship a full batch, or sets the timer where less waits. After failures it waits longer each
   * time.
   */
  notice(): void {
    if (this.#isStopped || this.#draining !== undefined) return;
    const waiting = this.#segments.waitingBytes();
    if (waiting === 0) return;
    if (this.#failures === 0 && waiting >= this.#options.shipBatchBytes) this.#drainBehind();
    else
      this.#timer ??= setTimeout(
        () => this.#drainBehind(),
        Math.min(this.#options.shipIntervalMs * 2 ** this.#failures, backoffMsMax),
      );
  }

  /** Ships all that waits now. Rejects when the store does not take it; it is tried again later. */
  async drain(): Promise<void> {
    // A shipment under way may have begun before the last lines were written.
    await this.#draining;
    await this.#drainOnce();
  }

  /** Stops shipping, except for calls of `drain`. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #drainBehind(): void {
    this.#drainOnce().catch(() => {
      // `#attempt` has reported the failure and scheduled the next attempt.
    });
  }

  /** Ships what waits at the start; lines that come meanwhile gather for the next time. */
  async #shipWaiting(): Promise<void> {
    for (let left = this.#segments.waitingBytes(); left > 0; ) left -= await this.#shipChunk();
  }

  async #shipChunk(): Promise<number> {
    const { lines, bytes, isInherited } = this.#segments.read(this.#options.shipBatchBytes);
    const later: Uint8Array[] = [];
    if (lines.length > 0) {
      // What failed or was put off may have been stored all the same, so the store must look for its calls.
      const mayRepeat = isInherited || this.#failures > 0 || this.#hasPutOff;
      const unreadable = await this.#options.ship({ lines, mayRepeat, putOff: (it) => later.push(it) });
      if (unreadable > 0)
        this.#options.onError(
          new Error(`${unreadable} lines of the journal cannot be read and are left out`),
        );
    }
    // They stand behind all others before they go from here: a crash between repeats them, and loses none.
    for (const it of later) this.#segments.write(it);
    this.#segments.drop(bytes);
    if (later.length > 0) this.#hasPutOff = true;
    else if (!this.#hasPutOff) this.#failures = 0;
    // The store may have used this turn of the event loop, so other work comes first.
    await nextTurn();
    return bytes;
  }

  /** Ships what waits. Where that is under way already, it returns the same promise. */
  #drainOnce(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#draining ??= this.#attempt();
    return this.#draining;
  }

  async #attempt(): Promise<void> {
    this.#hasPutOff = false;
    try {
      await this.#shipWaiting();
      if (this.#hasPutOff) this.#failures += 1;
    } catch (error) {
      this.#failures += 1;
      this.#options.onError(error);
      throw error;
    } finally {
      this.#draining = undefined;
      this.notice();
    }
  }
}
