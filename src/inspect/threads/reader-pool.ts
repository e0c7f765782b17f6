import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../core/errors.ts';
import { FairQueue, type QueueOwner } from './fair-queue.ts';
import { type Job, type Lost, type ReaderResult, ReaderThread } from './reader-thread.ts';

/*
 * Runs jobs that are too large for the event loop in threads. Each thread has one job at a time; other jobs
 * wait in fair, bounded queues. A thread that exceeds its deadline is ended, and a dead one is replaced. Each
 * costs only its own job.
 *
 * Nothing interrupts a job, and megabytes take a second. So long jobs wait in a queue of their own, and
 * threads take from both queues by turns. While long jobs have all threads, a further one does the short
 * jobs.
 */

export interface PoolOptions {
  readonly threads: number;
  /** The program that calls `serveJobs`. */
  readonly program: URL;
  /**
   * Receives how a thread was lost, and the code of the error that ended it; undefined where no error did.
   */
  readonly onLost: (lost: Lost, code: string | undefined) => void;
  /** Receives of each job that a thread has done how long it waited for a thread, and how long it took. */
  readonly onDone?: (waitedMs: number, tookMs: number) => void;
  /** Bounds in place of the defaults, which are for the daemon. */
  readonly bounds?: Partial<PoolBounds>;
}

export interface PoolBounds {
  /** Bound on the jobs that wait, in each queue. */
  readonly waitingMax: number;
  /** Bound on their bytes, in each queue. Those of short jobs are never more than `shortBytesMax`. */
  readonly waitingBytesMax: number;
  readonly waitMsMax: number;
  readonly graceMs: number;
  readonly heapMbMax: number;
  /** The time without work after which the further thread is ended, since each thread takes 50 MB. */
  readonly idleMsMax: number;
  /** The time after which nobody waits for the first threads any more. */
  readonly startMsMax: number;
}

const megabyte = 1024 * 1024;
const defaults: PoolBounds = {
  waitingMax: 1024,
  waitingBytesMax: 192 * megabyte,
  waitMsMax: 10_000,
  // Between two checks of the time, 8 MB of prose take a third of a second. Ending a thread costs loading its
  // tables anew.
  graceMs: 1_000,
  heapMbMax: 512,
  idleMsMax: 60_000,
  startMsMax: 3_000,
};
const shortBytesMax = 64 * megabyte;
/** The share of a queue that one tenant may fill, so that none fills it alone. */
const tenantShare = 0.5;
/** The size from which a job is long, in bytes. */
const longBytesMin = megabyte;
const isLong = (bytes: number): boolean => bytes >= longBytesMin;
/** Bound on the pause between starts, which keeps a program that cannot start from taking the processor. */
const restartMsMax = 5_000;

export interface PoolCounts {
  /**
   * The numbers of jobs without a result since the start: lost to their deadline, lost to a thread's death,
   * and refused.
   */
  readonly lostToDeadline: number;
  readonly lostToDeath: number;
  readonly refused: number;
  readonly waiting: number;
  readonly waitingBytes: number;
  /** The number of threads, the further one included. */
  readonly threads: number;
}

/** The thread for short jobs while long ones have all others. */
interface Further {
  readonly thread: ReaderThread;
  timer: NodeJS.Timeout | undefined;
  /** Tells whether it is ended because it had no work. */
  isIdle: boolean;
}

interface Waiting {
  readonly job: Job;
  readonly bytes: number;
  readonly resolve: (outcome: ReaderResult) => void;
  readonly timer: NodeJS.Timeout;
  readonly sinceMs: number;
}

export class ReaderPool {
  readonly #options: PoolOptions;
  readonly #bounds: PoolBounds;
  readonly #short: FairQueue<Waiting>;
  readonly #long: FairQueue<Waiting>;
  /** Tells whether the next thread takes a long job where both kinds wait. */
  #isLongNext = false;
  readonly #threads = new Set<ReaderThread>();
  /** The threads whose last job was long, until they take another one or have none. */
  readonly #withLong = new Set<ReaderThread>();
  #further: Further | undefined;
  readonly #counts = { lostToDeadline: 0, lostToDeath: 0, refused: 0 };
  /** The number of threads in a row that ended before they were ready. */
  #failedStarts = 0;
  /** The number of threads that became ready. */
  #begun = 0;
  readonly #closing = new AbortController();
  readonly #beginning = Promise.withResolvers<void>();
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#bounds = { ...defaults, ...options.bounds };
    const { waitingMax: countMax, waitingBytesMax: bytesMax } = this.#bounds;
    this.#short = new FairQueue({ countMax, bytesMax: Math.min(bytesMax, shortBytesMax), tenantShare });
    this.#long = new FairQueue({ countMax, bytesMax, tenantShare });
  }

  /** Starts the threads, each of which needs a second of a core before it is ready. */
  start(): void {
    for (let i = 0; i < this.#options.threads; i++) this.#start();
    this.#startTimer = setTimeout(this.#beginning.resolve, this.#bounds.startMsMax).unref();
  }

  /** Tells whether all threads are ready. */
  get hasBegun(): boolean {
    return this.#begun >= this.#options.threads;
  }

  /** Resolves when all threads are ready, or when it is not worth waiting for them any longer. */
  get beginning(): Promise<void> {
    return this.#beginning.promise;
  }

  get counts(): PoolCounts {
    return {
      ...this.#counts,
      waiting: this.#short.length + this.#long.length,
      waitingBytes: this.#short.bytes + this.#long.bytes,
      threads: this.#threads.size,
    };
  }

  /**
   * Does a job in a thread. Resolves with `lost` where its thread was lost. Rejects with GATEWAY_BUSY where
   * too much waits or no thread had time.
   */
  async run(job: Job, owner: QueueOwner, bytes: number): Promise<{ output: unknown } | { lost: Lost }> {
    if (this.#closing.signal.aborted)
      throw new GatewayError('SHUTTING_DOWN', 'The gateway is shutting down.');
    const mayDo = (it: ReaderThread): boolean => it.isFree && (!isLong(bytes) || !this.#isFurther(it));
    const threads = [this.#homeOf(job), ...this.#threads].filter((it) => it !== undefined);
    const free = this.#queueOf(bytes).length === 0 ? threads.find(mayDo) : undefined;
    const outcome = await (free ? this.#work(free, { job, bytes }, 0) : this.#wait(job, owner, bytes));
    if ('error' in outcome) throw outcome.error;
    if ('lost' in outcome) {
      if (outcome.lost === 'deadline') this.#counts.lostToDeadline += 1;
      else this.#counts.lostToDeath += 1;
    }
    return outcome;
  }

  /** Tells the threads that tools with these ids are not used any more. */
  forget(ids: readonly number[]): void {
    if (ids.length > 0) for (const thread of this.#threads) thread.forget(ids);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#endStart();
    for (const { resolve, timer } of [...this.#short.clear(), ...this.#long.clear()]) {
      clearTimeout(timer);
      resolve({ error: new GatewayError('SHUTTING_DOWN', 'The gateway is shutting down.') });
    }
    clearTimeout(this.#further?.timer);
    await Promise.all([...this.#threads].map((it) => it.end()));
  }

  #wait(job: Job, owner: QueueOwner, bytes: number): Promise<ReaderResult> {
    const { promise, resolve } = Promise.withResolvers<ReaderResult>();
    const queue = this.#queueOf(bytes);
    const timer = setTimeout(() => {
      if (queue.remove(owner, waiting)) resolve({ error: this.#busy() });
    }, this.#bounds.waitMsMax);
    const waiting: Waiting = { job, bytes, resolve, timer, sinceMs: performance.now() };
    if (queue.add(owner, waiting, bytes)) this.#startFurther();
    else {
      clearTimeout(timer);
      resolve({ error: this.#busy() });
    }
    return promise;
  }

  #queueOf(bytes: number): FairQueue<Waiting> {
    return isLong(bytes) ? this.#long : this.#short;
  }

  #busy(): GatewayError {
    this.#counts.refused += 1;
    return new GatewayError('GATEWAY_BUSY', 'Too many bodies wait to be read; try again.', {
      retryAfterSeconds: 1,
    });
  }

  #start(): ReaderThread {
    const { program, onLost } = this.#options;
    let hasBegun = false;
    const thread = new ReaderThread({ program, ...this.#bounds }, () => {
      if (!hasBegun) {
        hasBegun = true;
        this.#begun += 1;
        this.#failedStarts = 0;
        if (this.hasBegun) this.#endStart();
      }
      this.#give(thread);
    });
    this.#threads.add(thread);
    void thread.ended.then(async (code) => {
      this.#threads.delete(thread);
      this.#withLong.delete(thread);
      const { signal } = this.#closing;
      if (signal.aborted) return;
      const further = this.#isFurther(thread) ? this.#further : undefined;
      if (!further?.isIdle) onLost(thread.isEnding ? 'deadline' : 'death', code);
      if (!hasBegun) {
        this.#failedStarts += 1;
        this.#endStart();
      }
      const pauseMs = Math.min(restartMsMax, this.#failedStarts * 500);
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      if (further) {
        this.#further = undefined;
        this.#startFurther();
      } else this.#start();
    });
    return thread;
  }

  #endStart(): void {
    clearTimeout(this.#startTimer);
    this.#beginning.resolve();
  }

  /** Starts the further thread where short jobs wait for long ones. */
  #startFurther(): void {
    if (this.#further || this.#short.length === 0 || !this.#areAllLong) return;
    this.#further = { thread: this.#start(), timer: undefined, isIdle: false };
  }

  get #areAllLong(): boolean {
    return this.#withLong.size >= this.#options.threads;
  }

  #isFurther(thread: ReaderThread): boolean {
    return this.#further?.thread === thread;
  }

  /** Ends the further thread after a while, unless it gets work before. */
  #endLater(further: Further): void {
    clearTimeout(further.timer);
    further.timer = setTimeout(() => {
      if (!further.thread.isFree) return;
      if (this.#areAllLong) this.#endLater(further);
      else {
        further.isIdle = true;
        void further.thread.end();
      }
    }, this.#bounds.idleMsMax).unref();
  }

  /** Returns the thread that reads content with this beginning; undefined where the job has no beginning. */
  #homeOf({ beginning }: Job): ReaderThread | undefined {
    if (beginning === undefined) return undefined;
    const threads = [...this.#threads].filter((it) => !this.#isFurther(it));
    return threads[beginning % threads.length];
  }

  /**
   * Gives a free thread its next job. It counts as busy with a long job until it takes the next one, or none
   * waits.
   */
  #give(thread: ReaderThread): void {
    if (!thread.isFree) return;
    const next = this.#isFurther(thread) ? this.#short.take() : this.#takeByTurns(thread);
    if (next) {
      clearTimeout(next.timer);
      void this.#work(thread, next, performance.now() - next.sinceMs).then(next.resolve);
      return;
    }
    this.#withLong.delete(thread);
    if (this.#further?.thread === thread) this.#endLater(this.#further);
  }

  #takeByTurns(thread: ReaderThread): Waiting | undefined {
    const isWanted = ({ job }: Waiting): boolean => this.#homeOf(job) === thread;
    const next = this.#isLongNext
      ? (this.#long.take(isWanted) ?? this.#short.take(isWanted))
      : (this.#short.take(isWanted) ?? this.#long.take(isWanted));
    if (next) this.#isLongNext = !isLong(next.bytes);
    return next;
  }

  async #work(
    thread: ReaderThread,
    { job, bytes }: Pick<Waiting, 'job' | 'bytes'>,
    waitedMs: number,
  ): Promise<ReaderResult> {
    const startMs = performance.now();
    if (isLong(bytes)) this.#withLong.add(thread);
    else this.#withLong.delete(thread);
    this.#startFurther();
    const outcome = await thread.run(job);
    this.#options.onDone?.(waitedMs, performance.now() - startMs);
    return outcome;
  }
}
