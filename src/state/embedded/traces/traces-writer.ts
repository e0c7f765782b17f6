import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../../core/errors.ts';
import { threadEnvironment } from '../../../util/prepared.ts';
import { programModule } from '../../../util/program-files.ts';
import { toStateError } from '../sqlite.ts';
import type { TracesMessage, TracesRequest, TracesResult } from './traces-worker.ts';

/**
 * Writes `traces.db` in a thread. The thread starts when there is something to write, and again if it has
 * ended.
 */
export class TracesWriter {
  readonly #file: string;
  /** The requests that wait for an answer. Answers come in the order of the requests. */
  readonly #waiting: (PromiseWithResolvers<number> & { readonly isBatch: boolean })[] = [];
  #thread: Worker | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** Tells whether the last batch was refused. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /**
   * Sends a request to the thread. Resolves to the number of lines that were left out, or of rows that were
   * removed.
   */
  ask(request: TracesRequest, transfer: readonly ArrayBuffer[] = []): Promise<number> {
    if (this.#isClosed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The state is closed.'));
    this.#thread ??= this.#start();
    const answer = Promise.withResolvers<number>();
    this.#waiting.push({ ...answer, isBatch: 'lines' in request });
    this.#thread.postMessage(request satisfies TracesMessage, transfer);
    return answer.promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ending = this.#thread;
    if (!ending) return;
    // Batches are awaited first, because messages that the thread sends shortly before it ends can be lost.
    await Promise.allSettled(this.#waiting.map(({ promise }) => promise));
    ending.postMessage('close' satisfies TracesMessage);
    await new Promise((resolve) => ending.once('exit', resolve));
  }

  #settleNext(result: TracesResult): void {
    const asked = this.#waiting.shift();
    if (asked?.isBatch) this.#isFailing = 'failure' in result;
    if ('failure' in result) {
      const { failure, errstr } = result;
      asked?.reject(toStateError(Object.assign(new Error(failure), { errstr })));
    } else asked?.resolve(result.count);
  }

  #start(): Worker {
    const source = programModule('state/embedded/traces/traces-worker');
    const worker = new Worker(source, { workerData: this.#file, env: threadEnvironment() });
    /**
     * Rejects what the thread did not answer; the journal still has those batches. The next request starts a
     * new thread.
     */
    const giveUp = (reason: unknown) => {
      if (this.#thread !== worker) return;
      this.#thread = undefined;
      if (!this.#isClosed) this.#isFailing = true;
      for (const batch of this.#waiting.splice(0)) batch.reject(toStateError(reason));
    };
    worker.on('message', (result: TracesResult) => this.#settleNext(result));
    worker.once('error', giveUp);
    worker.once('exit', () => giveUp(new Error('the thread that writes traces has ended')));
    return worker;
  }
}
