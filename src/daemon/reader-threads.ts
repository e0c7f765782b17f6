import { availableParallelism } from 'node:os';
import type { Config } from '../config/schema.ts';
import type { Log } from '../core/log.ts';
import { ReaderPool } from '../inspect/threads/reader-pool.ts';
import { createReaders, onTheLoop } from '../inspect/threads/readers.ts';
import type { Engines } from '../tenants/engines.ts';
import { programModule } from '../util/program-files.ts';
import type { Counters } from './metrics/counters.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** The program of a reader thread. */
const program = programModule('decision/reader-program');

const sentences = {
  deadline: 'a reader thread was ended, since it did not end in time; its call is denied',
  death: 'a reader thread has died; what it read is denied',
} as const;

interface ReaderOptions {
  readonly place: WorkerSlot;
  readonly log: Log;
  readonly closers: AsyncDisposableStack;
  readonly counters: Counters;
}

/**
 * Opens the reader threads that the configuration asks for; `closers` ends them. Without threads, all is read
 * on the event loop. Returns their number, and the counts of their pool where there is one.
 */
export function openReaders(
  { reading }: Pick<Config, 'reading'>,
  engines: Engines,
  { place, log, closers, counters }: ReaderOptions,
) {
  const threads = threadsOf(reading.threads, place, availableParallelism());
  if (threads === 0) return { readers: onTheLoop, threads, counts: () => undefined, start: () => undefined };
  const pool = new ReaderPool({
    threads,
    program,
    onLost(lost, code) {
      counters.readerLost.add(lost);
      log.error({ code, kind: lost, ...pool.counts }, sentences[lost]);
    },
    onDone(waitedMs, tookMs) {
      counters.readerWait.observe(waitedMs / 1000);
      counters.readerWork.observe(tookMs / 1000);
    },
  });
  closers.defer(() => pool.close());
  return {
    readers: createReaders(pool, engines.settingsOf),
    threads,
    counts: () => pool.counts,
    /** Starts the threads. That takes a core for a second, which a daemon needs itself until it is ready. */
    start: () => pool.start(),
  };
}

/** Returns the number of threads: the wanted one, else this process's share of the cores. */
export const threadsOf = (
  wanted: number | null,
  { workers }: Pick<WorkerSlot, 'workers'>,
  cores: number,
): number => wanted ?? Math.max(1, Math.floor((cores - workers) / workers));
