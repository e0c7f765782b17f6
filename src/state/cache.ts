/**
 * A bounded map of the entries used last. Entries that fall out are read from the disk again when they are
 * asked for.
 */
export type Cache<V> = ReturnType<typeof createCache<V>>;

/**
 * Holds between `entriesMax / 2` and `entriesMax` of the entries used last. It has two generations instead of
 * a list of uses. When the young generation is full, it becomes the old one, and the old one is forgotten at
 * once. A hit in the young generation is a plain lookup.
 */
export function createCache<V>(entriesMax: number) {
  const generationMax = Math.max(1, Math.floor(entriesMax / 2));
  let young = new Map<string, V>();
  let old = new Map<string, V>();

  function set(key: string, value: V): void {
    if (young.size >= generationMax && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    get(key: string) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const kept = old.get(key);
      if (kept !== undefined) set(key, kept);
      return kept;
    },
    set,
    delete(key: string) {
      young.delete(key);
      old.delete(key);
    },
  };
}
