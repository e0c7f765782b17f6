import type { Log } from '../core/log.ts';
import type { Notice } from './notice.ts';

/** Notices that are kept in memory while the state is away. */
export const heldMax = 100;

/** Keeps notices that are in no log of the state until the state takes them. */
export class HeldNotices {
  readonly #enqueue: (notices: readonly Notice[]) => Promise<void>;
  readonly #log: Log;
  #held: Notice[] = [];
  /** Number of notices on their way into the queue. */
  #leaving = 0;
  #telling: Promise<void> | undefined;

  /** Takes `enqueue`, which rejects where the state does not take notices now. */
  constructor(enqueue: (notices: readonly Notice[]) => Promise<void>, log: Log) {
    this.#enqueue = enqueue;
    this.#log = log;
  }

  /** Keeps a notice. Returns false where there is no room. */
  add(notice: Notice): boolean {
    if (this.#held.length + this.#leaving >= heldMax) {
      const { kind, summary } = notice;
      this.#log.warn({ kind, summary }, 'a notice is dropped: the state is away');
      return false;
    }
    this.#held.push(notice);
    return true;
  }

  /** Puts all notices into the queue, as far as the state takes them. Never rejects. */
  tell(): Promise<void> {
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = undefined;
    });
    return this.#telling;
  }

  async #tellAll(): Promise<void> {
    while (this.#held.length > 0) {
      const all = this.#held;
      this.#held = [];
      this.#leaving = all.length;
      try {
        await this.#enqueue(all);
      } catch (error) {
        this.#held = [...all, ...this.#held];
        this.#log.warn({ err: error, notices: this.#held.length }, 'notices wait for the state');
        return;
      } finally {
        this.#leaving = 0;
      }
    }
  }
}
