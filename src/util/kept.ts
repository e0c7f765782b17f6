interface Kept<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/**
 * Returns a key's value, which `make` makes when it is first asked for. It does not keep undefined. The
 * caller bounds the map.
 */
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V): V;
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V | undefined): V | undefined;
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V | undefined): V | undefined {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (made !== undefined) map.set(key, made);
  return made;
}
