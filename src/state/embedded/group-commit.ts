import { GatewayError } from '../../core/errors.ts';
import { type Database, toStateError, whyRefused } from './sqlite.ts';

interface Write {
  /** Does the work, and returns what is to be done after the commit. */
  run(): () => void;
  reject(error: unknown): void;
}

/** The limit of writes in a transaction, which holds the event loop. The rest follow in the next turn. */
const groupMax = 500;
const waitingMax = 20_000;

export class GroupCommit {
  readonly #db: Database;
  readonly #waiting: Write[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;
  #failure: unknown;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Runs `work` in the next transaction, together with all that is written in this turn of the event loop. So
   * a thousand writes at once cost one fsync and not a thousand. Resolves with its result when that is on
   * disk; `apply` has then brought memory up to date. Rejects, with disk and memory unchanged, when `work`
   * throws or the transaction fails. Where `work` throws, the other writes of the transaction stand.
   */
  write<T>(work: () => T, apply?: (result: T) => void): Promise<T> {
    if (this.#closed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The state is being closed.'));
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(new GatewayError('GATEWAY_BUSY', 'Too many changes are waiting to be written.'));
    }
    return new Promise((resolve, reject) => {
      const run = () => {
        const result = work();
        return () => {
          apply?.(result);
          resolve(result);
        };
      };
      this.#waiting.push({ run, reject: (error) => reject(toStateError(error)) });
      this.#schedule();
    });
  }

  /** Tells whether the last transaction failed as a whole. */
  isFailing(): boolean {
    return this.#failure !== undefined;
  }

  /** Returns the database's words for the last failure, which quote nothing: `database or disk is full`. */
  get failure(): string {
    return whyRefused(this.#failure);
  }

  /** Commits what waits, then refuses further writes. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#scheduled);
    while (this.#waiting.length > 0) this.#commitGroup();
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#commitGroup();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #commitGroup(): void {
    const group = this.#waiting.splice(0, groupMax);
    let settles: (() => void)[];
    try {
      settles = this.#db.transact(() => this.#runAll(group));
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      for (const write of group) write.reject(error);
      return;
    }
    for (const settle of settles) settle();
  }

  /**
   * Runs the writes of a group. A write that fails is undone alone. Throws where SQLite gave up the whole
   * transaction.
   */
  #runAll(group: readonly Write[]): (() => void)[] {
    const settles: (() => void)[] = [];
    for (const write of group) {
      try {
        settles.push(this.#db.transact(() => write.run()));
      } catch (error) {
        if (!this.#db.isInTransaction()) throw error;
        write.reject(error);
      }
    }
    return settles;
  }
}
