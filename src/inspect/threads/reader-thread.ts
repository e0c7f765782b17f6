import { Worker } from 'node:worker_threads';
import { threadEnvironment } from '../../util/prepared.ts';
import { Inbox } from './crossing.ts';
import type { FromThread, ToolSpec, ToThread } from './messages.ts';

/** Why a job has no result: its time was over, or its thread died. */
export type Lost = 'deadline' | 'death';

export type ReaderResult = { readonly output: unknown } | { readonly lost: Lost } | { readonly error: Error };

export interface Job {
  readonly name: string;
  readonly input: unknown;
  readonly maxDecodedBytes: number;
  readonly timeoutMs: number;
  readonly tools: ToolSpec;
  /**
   * A number for what the content begins with; undefined where that does not matter. A thread remembers
   * beginnings, so jobs with the same number are done by the same thread where that costs no time.
   */
  readonly beginning?: number | undefined;
}

export interface ThreadOptions {
  readonly program: URL;
  readonly heapMbMax: number;
  /** The time beyond a job's own deadline before its thread is ended, in milliseconds. */
  readonly graceMs: number;
}

/**
 * The time within which a thread should tell its processor time, in milliseconds. It can do so within a
 * pattern, but not when the machine gives it no turn.
 */
const answerMs = 100;
/** The number of questions without an answer in a row after which a thread counts as stuck. */
const questionsMax = 50;

/**
 * Bound on the young heap, since hardly anything outlives its body. Twice as much costs 40 MB for each thread
 * and saves no time; half as much costs some.
 */
const youngHeapMbMax = 48;

/** Does one job at a time in a thread. Once the thread is lost, it is never used again. */
export class ReaderThread {
  readonly #worker: Worker;
  readonly #graceMs: number;
  readonly #known = new Set<number>();
  readonly #inbox = new Inbox();
  readonly #onFree: () => void;
  #conclude: ((outcome: ReaderResult) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cpuMs = 0;
  #isReady = false;
  #isEnding = false;
  /** Resolves when the thread has ended, with the code of the error that ended it, or undefined. */
  readonly ended: Promise<string | undefined>;

  /** Starts the thread. `onFree` is called once the thread is ready, and after each job. */
  constructor({ program, heapMbMax, graceMs }: ThreadOptions, onFree: () => void) {
    this.#graceMs = graceMs;
    this.#onFree = onFree;
    this.#worker = new Worker(program, {
      env: threadEnvironment(),
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngHeapMbMax },
      // The output of a thread is discarded, since it may quote what is read.
      stdout: true,
      stderr: true,
    });
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    let code: string | undefined;
    this.#worker.on('message', (message: FromThread) => this.#hear(message));
    this.#worker.on('messageerror', () => void this.end());
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? error.name;
    });
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#isReady = false;
        this.#finish({ lost: 'death' });
        resolve(code);
      });
    });
  }

  /** Tells whether the thread can take a job. */
  get isFree(): boolean {
    return this.#isReady && !this.#conclude && !this.#isEnding;
  }

  /** Tells whether the thread is being ended on purpose. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Runs a job, only while the thread is free. It always resolves; until then the input must not change. */
  run({ name, input, maxDecodedBytes, timeoutMs, tools }: Job): Promise<ReaderResult> {
    const { promise, resolve } = Promise.withResolvers<ReaderResult>();
    this.#conclude = resolve;
    const { packed, copyNext } = this.#inbox.pack(input);
    this.#inTurns(copyNext, () => {
      const isKnown = this.#known.has(tools.id);
      this.#known.add(tools.id);
      this.#post({
        ...packed,
        name,
        bounds: { maxDecodedBytes, timeoutMs },
        toolsId: tools.id,
        tools: isKnown ? undefined : tools,
      });
      this.#watch(this.#cpuMs + timeoutMs + this.#graceMs, timeoutMs + this.#graceMs);
    });
    return promise;
  }

  /**
   * Copies the input of the job turn by turn, and then calls `begin` unless the thread was lost meanwhile.
   */
  #inTurns(copyNext: () => boolean, begin: () => void): void {
    const job = this.#conclude;
    const next = (): void => {
      if (this.#conclude !== job) return;
      try {
        if (copyNext()) setImmediate(next);
        else begin();
      } catch (error) {
        this.#finish({ error: error instanceof Error ? error : new Error('input that cannot be sent') });
        this.#onFree();
      }
    };
    next();
  }

  forget(ids: readonly number[]): void {
    for (const id of ids) this.#known.delete(id);
    this.#post({ forget: ids });
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /**
   * Ends the thread when its job has taken this much processor time, or when the thread is silent for long.
   */
  #watch(cpuEndMs: number, ms: number): void {
    const job = this.#conclude;
    this.#timer = setTimeout(async () => {
      const usedMs = await this.#usedMs(() => this.#conclude === job);
      if (this.#conclude !== job) return;
      const leftMs = usedMs === undefined ? 0 : cpuEndMs - usedMs;
      if (leftMs > 0) {
        this.#watch(cpuEndMs, leftMs);
        return;
      }
      this.#finish({ lost: 'deadline' });
      await this.end();
    }, ms);
  }

  /**
   * Returns the processor time of the thread in milliseconds. Returns undefined where many questions have no
   * answer, or where nobody wants to know any more.
   */
  async #usedMs(isWanted: () => boolean): Promise<number | undefined> {
    for (let question = 0; question < questionsMax && isWanted(); question++) {
      const { promise: late, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => resolve(undefined), answerMs);
      const used = await Promise.race([this.#worker.cpuUsage().catch(() => undefined), late]);
      clearTimeout(timer);
      if (used) return (used.user + used.system) / 1000;
    }
    return undefined;
  }

  #hear(message: FromThread): void {
    this.#cpuMs = message.cpuMs;
    if ('isReady' in message) {
      this.#isReady = true;
      this.#onFree();
    } else if ('failure' in message) {
      const error = new Error('a job of a reader thread failed');
      error.stack = `${message.failure.name}: in a reader thread\n${message.failure.stack}`;
      this.#finish({ error });
      this.#onFree();
    } else {
      this.#finish({ output: this.#inbox.unpack(message.packed) });
      this.#onFree();
    }
  }

  #finish(outcome: ReaderResult): void {
    clearTimeout(this.#timer);
    const conclude = this.#conclude;
    this.#conclude = undefined;
    this.#inbox.clear();
    conclude?.(outcome);
  }
}
