/** Counts things by name. It keeps no entry for a name with a count of 0. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, more = 1): void {
    const left = this.of(name) + more;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }
}
