import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordedCall } from '../store.ts';
import { parseLine } from './line.ts';
import type { Segments } from './segments.ts';

/** Carries calls from the journal's files to the store, in order, behind the back of those who write. */
export interface Shipper {
  /** So many lines more wait. */
  notice(lines: number): void;
  /** Ships all that waits now. Rejects when the store does not take it; it is tried again later. */
  drain(): Promise<void>;
  /** No further attempts but those of `drain`. */
  stop(): void;
}

export interface ShipperOptions {
  readonly ship: (calls: readonly RecordedCall[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly shipIntervalMs: number;
  readonly shipBatchMax: number;
}

const chunkBytes = 256 * 1024;
const backoffMsMax = 10_000;

export function createShipper(segments: Segments, options: ShipperOptions): Shipper {
  const { ship, onError, shipIntervalMs, shipBatchMax } = options;
  let linesWaiting = 0;
  let failures = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;

  function schedule(): void {
    if (isStopped || draining || segments.waitingBytes() === 0) return;
    if (failures === 0 && linesWaiting >= shipBatchMax) drainBehind();
    else timer ??= setTimeout(drainBehind, Math.min(shipIntervalMs * 2 ** failures, backoffMsMax));
  }

  function drainBehind(): void {
    drainOnce().catch(() => {
      // Reported and scheduled again where it failed.
    });
  }

  /** What waits at the start, so that lines which come meanwhile gather for the next time. */
  async function shipWaiting(): Promise<void> {
    for (let left = segments.waitingBytes(); left > 0; ) left -= await shipChunk();
  }

  async function shipChunk(): Promise<number> {
    const chunk = segments.read(chunkBytes);
    const calls = readCalls(chunk.text);
    for (let at = 0; at < calls.length; at += shipBatchMax) {
      await ship(calls.slice(at, at + shipBatchMax));
      // The store may have worked on this turn of the event loop; the calls of others come first.
      await nextTurn();
    }
    segments.drop(chunk);
    linesWaiting = Math.max(0, linesWaiting - calls.length);
    return chunk.bytes;
  }

  function readCalls(text: string): RecordedCall[] {
    const lines = text.split('\n').slice(0, -1);
    const calls = lines.flatMap((line) => parseLine(line) ?? []);
    const lost = lines.length - calls.length;
    if (lost > 0) onError(new Error(`${lost} lines of the journal cannot be read and are left out`));
    return calls;
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
      failures = 0;
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
    notice(lines) {
      linesWaiting += lines;
      schedule();
    },
    async drain() {
      // What is under way may have begun before the last lines were written.
      await draining;
      await drainOnce();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
