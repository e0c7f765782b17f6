import { createHash } from 'node:crypto';
import type { Environment } from '../../config/checks/references.ts';
import { loadConfig } from '../../config/load.ts';
import { GatewayError } from '../../core/errors.ts';
import { openLog } from '../../core/log.ts';
import type { Snapshot } from '../metrics/exposition.ts';
import { readInThread } from '../reload/read-in-thread.ts';
import { openServing, type Prepared, type Serving } from '../serving.ts';
import { type Loaded, loadedHere } from '../start/loaded.ts';
import {
  type AnswerMessage,
  type Answers,
  type AskMessage,
  type Order,
  type OrderMessage,
  toFailure,
} from './messages.ts';
import { filesTaken, type TakenFiles } from './taken-files.ts';

/*
 * The program of a worker, which the parent starts as often as `workers` says. It serves as its parent
 * orders. When the parent is gone, for whatever reason, the channel to it closes. Node's cluster then ends
 * the worker at once, since nobody could reload or stop it without its parent. All that it has recorded is in
 * its journal.
 */

type OrderTo<To extends Order['to']> = Extract<Order, { to: To }>;

class Worker {
  readonly #env: Environment;
  #file = '';
  #serving: Serving | undefined;
  #prepared: Prepared | undefined;
  #stopping: Promise<void> | undefined;
  #asking: PromiseWithResolvers<readonly Snapshot[]> | undefined;

  constructor(env: Environment) {
    this.#env = env;
  }

  async obey(order: Order): Promise<Answers[Order['to']]> {
    switch (order.to) {
      case 'open':
        return this.#open(order);
      case 'listen':
        return this.#opened().listen(order.addresses);
      case 'seed':
        return (this.#prepared ?? this.#opened()).seed();
      case 'prepare':
        await this.#prepare(order.taken);
        return undefined;
      case 'take':
        await this.#takeOver(order);
        return undefined;
      case 'drop':
        this.#prepared?.drop();
        this.#prepared = undefined;
        this.#opened().refuse(order.reason);
        return undefined;
      case 'measure':
        return this.#opened().metrics.snapshot();
      case 'show':
        this.#asking?.resolve(order.snapshots);
        this.#asking = undefined;
        return undefined;
      case 'stop':
        await this.stop(order.graceMs);
        return undefined;
    }
  }

  /** Stops serving. However often it is called, this happens once. */
  stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#serving?.stop(graceMs);
    return this.#stopping ?? Promise.resolve();
  }

  async #open({ file, taken, place, standing }: OrderTo<'open'>): Promise<Answers['open']> {
    this.#file = file;
    const loaded = this.#load(taken);
    const log = openLog(loaded.config.log);
    endOnBugs((error) => log.fatal({ err: error }, 'a bug: the worker ends'));
    const serving = await openServing(loaded, {
      place,
      log,
      standing,
      firstStart: undefined,
      gatherMetrics: () => this.#gatherMetrics(),
    });
    this.#serving = serving;
    const ground = createHash('sha256').update(serving.certPem).update(serving.pepper);
    return { groundDigest: ground.digest('hex') };
  }

  async #prepare(taken: TakenFiles): Promise<void> {
    const serving = this.#opened();
    const task = { file: this.#file, env: this.#env, taken };
    const prepared = await readInThread(task, serving.config(), (it) => serving.prepare(it));
    // A generation that was prepared before is dropped: nobody waits for that order any more.
    this.#prepared?.drop();
    this.#prepared = prepared;
  }

  async #takeOver({ standing }: OrderTo<'take'>): Promise<void> {
    if (!this.#prepared) throw new Error('nothing was prepared');
    const prepared = this.#prepared;
    this.#prepared = undefined;
    await prepared.take(standing);
  }

  /** Returns the metrics of all workers, this one included. The parent asks each of them. */
  #gatherMetrics(): Promise<readonly Snapshot[]> {
    if (!this.#asking) {
      const asking = Promise.withResolvers<readonly Snapshot[]>();
      this.#asking = asking;
      setTimeout(() => {
        asking.reject(new GatewayError('GATEWAY_BUSY', 'The other workers do not answer; try again.'));
        if (this.#asking === asking) this.#asking = undefined;
      }, gatherMs).unref();
      process.send?.({ asks: 'metrics' } satisfies AskMessage, undefined, undefined, () => undefined);
    }
    return this.#asking.promise;
  }

  #load(taken: TakenFiles): Loaded {
    const files = filesTaken(taken);
    return loadedHere(loadConfig(this.#file, this.#env, files), files);
  }

  #opened(): Serving {
    if (!this.#serving) throw new Error('nothing is open');
    return this.#serving;
  }
}

/**
 * Ends the process at an uncaught error, which is a bug. A gateway in an unknown state must not judge; the
 * parent starts another.
 */
function endOnBugs(tell: (error: unknown) => void): void {
  process.on('uncaughtException', (error) => {
    tell(error);
    process.exit(1);
  });
}

/** The time to wait for all metrics. It is longer than the parent waits for the slowest worker. */
const gatherMs = 10_000;
const graceMsOfTerm = 30_000;

function serveParent(): void {
  const worker = new Worker(process.env);
  const answer = (message: AnswerMessage): void => {
    // The callback ignores errors: without a parent the worker is about to end.
    process.send?.(message, undefined, undefined, () => undefined);
  };
  process.on('message', ({ id, order }: OrderMessage) => {
    worker.obey(order).then(
      (value) => answer({ id, ok: true, value }),
      (error: unknown) => answer({ id, ok: false, failure: toFailure(error) }),
    );
  });
  // A terminal sends these to all processes of a group; the parent decides what they mean for its workers.
  process.on('SIGINT', () => undefined);
  process.on('SIGHUP', () => undefined);
  // With this signal one worker drains and ends, and the parent starts another one.
  process.on('SIGTERM', () => {
    worker.stop(graceMsOfTerm).then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}

serveParent();
