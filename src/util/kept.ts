interface Kept<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
}

/** The value at a key, made when it is first asked for; no undefined one is kept. For maps that someone else bounds. */
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V): V;
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V | undefined): V | undefined;
export function kept<K, V>(map: Kept<K, V>, key: K, make: () => V | undefined): V | undefined {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (made !== undefined) map.set(key, made);
  return made;
}
