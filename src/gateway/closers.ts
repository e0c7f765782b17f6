/** What was opened, to be closed in the opposite order; once. */
export class Closers {
  readonly #steps: (() => Promise<void> | void)[] = [];

  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }

  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}
