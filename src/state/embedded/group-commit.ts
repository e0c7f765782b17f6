import { GatewayError } from '../../core/errors.ts';
import { type Database, toStateError } from './sqlite.ts';

export interface GroupCommit {
  /**
   * Runs `work` in the next transaction, together with all that is written in this turn of the event loop. So a
   * thousand writes at once cost one fsync and not a thousand. Resolves with its result when that is on disk; `apply`
   * has then brought memory up to date. Rejects, with disk and memory unchanged, when `work` throws (the others of
   * the group stand) or the transaction fails.
   */
  write<T>(work: () => T, apply?: (result: T) => void): Promise<T>;
  /** Tells whether the last transaction failed as a whole. */
  isFailing(): boolean;
  /** Commits what waits, then refuses further writes. */
  close(): void;
}

interface Write {
  /** Does the work; answers what is to be done once it is committed. */
  run(): () => void;
  reject(error: unknown): void;
}

/** One transaction holds the event loop no longer than so many writes take; the rest follow in the next turn. */
const groupMax = 500;
const waitingMax = 20_000;

export function createGroupCommit(db: Database): GroupCommit {
  const waiting: Write[] = [];
  let scheduled: NodeJS.Immediate | undefined;
  let closed = false;
  let isFailing = false;

  function schedule(): void {
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      commitGroup();
      if (waiting.length > 0) schedule();
    });
  }

  function commitGroup(): void {
    const group = waiting.splice(0, groupMax);
    let settles: (() => void)[];
    try {
      settles = db.transact(() => runAll(group));
      isFailing = false;
    } catch (error) {
      isFailing = true;
      for (const write of group) write.reject(error);
      return;
    }
    for (const settle of settles) settle();
  }

  /** One write that fails is undone alone; the group fails where the database has given up the whole transaction. */
  function runAll(group: readonly Write[]): (() => void)[] {
    const settles: (() => void)[] = [];
    for (const write of group) {
      try {
        settles.push(db.transact(() => write.run()));
      } catch (error) {
        if (!db.isInTransaction()) throw error;
        write.reject(error);
      }
    }
    return settles;
  }

  return {
    write(work, apply) {
      if (closed) return Promise.reject(new GatewayError('SHUTTING_DOWN', 'The state is being closed.'));
      if (waiting.length >= waitingMax) {
        return Promise.reject(
          new GatewayError('GATEWAY_BUSY', 'Too many changes are waiting to be written.'),
        );
      }
      return new Promise((resolve, reject) => {
        const run = () => {
          const result = work();
          return () => {
            apply?.(result);
            resolve(result);
          };
        };
        waiting.push({ run, reject: (error) => reject(toStateError(error)) });
        schedule();
      });
    },
    isFailing: () => isFailing,
    close() {
      closed = true;
      clearImmediate(scheduled);
      while (waiting.length > 0) commitGroup();
    },
  };
}
