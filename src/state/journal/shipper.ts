import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallBatch } from '../store.ts';
import type { Segments } from './segments.ts';

/** Carries calls from the journal's files to the store, in order, behind the back of those who write. */
export interface Shipper {
  /** There may be more that waits. */
  notice(): void;
  /** Ships all that waits now. Rejects when the store does not take it; it is tried again later. */
  drain(): Promise<void>;
  /** No further attempts but those of `drain`. */
  stop(): void;
}

export interface ShipperOptions {
  readonly ship: (batch: CallBatch) => Promise<number>;
  readonly onError: (error: unknown) => void;
  readonly shipIntervalMs: number;
  readonly shipBatchBytes: number;
}

const backoffMsMax = 10_000;

export function createShipper(segments: Segments, options: ShipperOptions): Shipper {
  const { ship, onError, shipIntervalMs, shipBatchBytes } = options;
  let failures = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;

  function schedule(): void {
    if (isStopped || draining !== undefined) return;
    const waiting = segments.waitingBytes();
    if (waiting === 0) return;
    if (failures === 0 && waiting >= shipBatchBytes) drainBehind();
    else timer ??= setTimeout(drainBehind, Math.min(shipIntervalMs * 2 ** failures, backoffMsMax));
  }

  function drainBehind(): void {
    drainOnce().catch(() => {
      // Reported and scheduled again where it failed.
    });
  }

  /** Ships what waits at the start; lines that come meanwhile gather for the next time. */
  async function shipWaiting(): Promise<void> {
    for (let left = segments.waitingBytes(); left > 0; ) left -= await shipChunk();
  }

  async function shipChunk(): Promise<number> {
    const { lines, bytes, isInherited } = segments.read(shipBatchBytes);
    if (lines.length > 0) {
      // A failed chunk may have been stored all the same, so it is sent again in front of the next one.
      const unreadable = await ship({ lines, mayRepeat: isInherited || failures > 0 });
      if (unreadable > 0)
        onError(new Error(`${unreadable} lines of the journal cannot be read and are left out`));
    }
    segments.drop(bytes);
    failures = 0;
    // The store may have worked on this turn of the event loop; the calls of others come first.
    await nextTurn();
    return bytes;
  }

  /** One at a time: who comes while one is under way waits for that one. */
  function drainOnce(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    draining ??= attempt();
    return draining;
  }

  async function attempt(): Promise<void> {
    try {
      await shipWaiting();
    } catch (error) {
      failures += 1;
      onError(error);
      throw error;
    } finally {
      draining = undefined;
      schedule();
    }
  }

  return {
    notice: schedule,
    async drain() {
      // A shipment under way may have begun before the last lines were written.
      await draining;
      await drainOnce();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
