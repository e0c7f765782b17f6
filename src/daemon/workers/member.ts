import type { Worker as ClusterWorker } from 'node:cluster';
import { type AnswerMessage, type Answers, type AskMessage, fromFailure, type Order } from './messages.ts';

/** Says that a worker ended before it answered. */
export class WorkerGone extends Error {
  constructor(slot: number) {
    super(`worker ${slot} ended before it was done; the log says why`);
    this.name = 'WorkerGone';
  }
}

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Stands for one worker in its parent. */
export class Member {
  readonly slot: number;
  /** Resolves when the process has ended, with its exit code or the signal that ended it. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The time when it began to serve, by `performance.now()`; undefined before that. */
  servingSinceMs: number | undefined;
  isGone = false;
  /** Tells whether it was not started because the state is away. */
  isWaiting = false;
  readonly #worker: ClusterWorker;
  readonly #asked = new Map<number, Asked>();
  #lastId = 0;

  /** Follows a worker. `onAsked` is called when the worker wants the metrics of all. */
  constructor(slot: number, worker: ClusterWorker, onAsked: (member: Member) => void) {
    this.slot = slot;
    this.#worker = worker;
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        this.isGone = true;
        for (const { reject } of this.#asked.values()) reject(new WorkerGone(slot));
        this.#asked.clear();
        resolve({ code, signal });
      };
      worker.once('exit', end);
      worker.on('error', () => {
        // A worker that could not be started never exits. Any other that cannot be written to is killed, and
        // then exits.
        if (worker.process.pid === undefined) end(null, null);
        else this.kill();
      });
    });
    closeWhatItDidNotTake(worker);
    worker.on('message', (message: AnswerMessage | AskMessage) => {
      if ('asks' in message) onAsked(this);
      else this.#take(message);
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /**
   * Gives the worker an order. Rejects with the error that it answers, or with WorkerGone. A worker that does
   * not answer in time is killed.
   */
  ask<To extends Order['to']>(order: Extract<Order, { to: To }>, timeoutMs: number): Promise<Answers[To]> {
    return this.#ask(order, timeoutMs, () => this.kill());
  }

  /**
   * Asks for something that nobody depends on. Rejects if no answer comes in time, and lets the worker live.
   */
  askIdly<To extends Order['to']>(
    order: Extract<Order, { to: To }>,
    timeoutMs: number,
  ): Promise<Answers[To]> {
    return this.#ask(order, timeoutMs, (id) => {
      this.#asked.get(id)?.reject(new Error(`worker ${this.slot} does not answer`));
      this.#asked.delete(id);
    });
  }

  #ask<To extends Order['to']>(
    order: Extract<Order, { to: To }>,
    timeoutMs: number,
    onLate: (id: number) => void,
  ): Promise<Answers[To]> {
    if (this.isGone) return Promise.reject(new WorkerGone(this.slot));
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => onLate(id), timeoutMs);
    this.#asked.set(id, { resolve, reject });
    this.#worker.process.send({ id, order }, undefined, undefined, (error: Error | null) => {
      if (error) this.kill();
    });
    return promise.finally(() => clearTimeout(timer)) as Promise<Answers[To]>;
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  /** Ends the worker, which has done all that it should, by closing the channel to it. */
  dismiss(): void {
    if (this.#worker.process.connected) this.#worker.process.disconnect();
  }

  #take(message: AnswerMessage): void {
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.ok) asked?.resolve(message.value);
    else asked?.reject(fromFailure(message.failure));
  }
}

/**
 * Closes the connections that a worker did not take before it ended. Such a connection would stay open for
 * ever: Node's cluster waits for the worker to say that it has taken it. At most one connection of each
 * listener is on its way. So the last one is remembered, and closed in the end; closing twice does nothing.
 * The form of these messages is internal to Node. If it changed, nothing would be remembered.
 */
function closeWhatItDidNotTake(worker: ClusterWorker): void {
  const child: { send: (...args: [unknown, unknown, ...unknown[]]) => boolean } = worker.process as never;
  const send = child.send.bind(child);
  const onTheirWay = new Map<unknown, { close(): void }>();
  child.send = (message, handle, ...rest) => {
    const { act, key } = message as { act?: unknown; key?: unknown };
    if (act === 'newconn') onTheirWay.set(key, handle as { close(): void });
    return send(message, handle, ...rest);
  };
  worker.once('exit', () => {
    for (const handle of onTheirWay.values()) handle.close();
  });
}
