/**
 * Runs reloads one after the other: two signals in a row must not prepare two generations at once. A reload
 * that has not begun has read nothing, so further signals ask for no other one.
 */
export class ReloadTurns {
  readonly #reload: () => Promise<boolean>;
  readonly #untilReady: () => Promise<unknown>;
  #last: Promise<unknown> = Promise.resolve();
  /** The reload that has not begun yet; undefined where none waits. */
  #next: Promise<boolean> | undefined;

  /** Takes what reloads, and what resolves when a reload may begin. */
  constructor(reload: () => Promise<boolean>, untilReady: () => Promise<unknown> = async () => undefined) {
    this.#reload = reload;
    this.#untilReady = untilReady;
  }

  /** Returns whether the configuration was taken, by the next reload that begins. */
  ask(): Promise<boolean> {
    this.#next ??= this.#last.then(this.#untilReady).then(() => {
      this.#next = undefined;
      return this.#reload();
    });
    this.#last = this.#next;
    return this.#next;
  }

  /** Resolves when all reloads that were asked for have ended, and those asked for meanwhile. */
  async ended(): Promise<void> {
    for (let last: Promise<unknown> | undefined; last !== this.#last; ) {
      last = this.#last;
      await last;
    }
  }
}
