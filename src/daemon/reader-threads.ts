import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { Log } from '../core/log.ts';
import { ReaderPool } from '../inspect/threads/reader-pool.ts';
import { createReaders, onTheLoop, type Readers } from '../inspect/threads/readers.ts';
import type { Engines } from '../tenants/engines.ts';
import type { Closers } from './closers.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** The program of a reader thread. */
const program = new URL(`../decision/reader-program${extname(import.meta.url)}`, import.meta.url);

const sentences = {
  deadline: 'a reader thread was ended, since it did not end in time; its call is denied',
  death: 'a reader thread has died; what it read is denied',
} as const;

export interface OpenedReaders {
  readonly readers: Readers;
  /** Starts the threads. Their start takes a core for a second, which a daemon that is not ready yet needs itself. */
  start(): void;
}

/** Reads with the threads that the configuration asks for, to be ended with everything else; with none, all is read on the event loop. */
export function openReaders(
  { reading }: Pick<Config, 'reading'>,
  engines: Engines,
  { place, log, closers }: { readonly place: WorkerSlot; readonly log: Log; readonly closers: Closers },
): OpenedReaders {
  const threads = threadsOf(reading.threads, place, availableParallelism());
  if (threads === 0) return { readers: onTheLoop, start: () => undefined };
  const pool = new ReaderPool({
    threads,
    program,
    onLost: (lost, code) => log.error({ code, kind: lost, ...pool.counts }, sentences[lost]),
  });
  closers.add(() => pool.close());
  return { readers: createReaders(pool, engines.settingsOf), start: () => pool.start() };
}

/** Each process of a daemon has its share of the cores. */
export const threadsOf = (
  wanted: number | null,
  { workers }: Pick<WorkerSlot, 'workers'>,
  cores: number,
): number => wanted ?? Math.max(1, Math.floor((cores - workers) / workers));
