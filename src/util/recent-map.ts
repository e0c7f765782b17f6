/**
 * Holds at most `entriesMax` entries: the one that was set longest ago makes room for a new one. Reading an
 * entry does not renew it; a caller who wants that sets it again.
 */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#entriesMax) this.delete(this.keys().next().value as K);
    return this;
  }
}
