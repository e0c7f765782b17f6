/**
 * Returns the entries of a table for the keys that a rule uses, in the table's order, each with the rule's
 * value. Table and values are typed key by key where they are written. The type checker cannot prove that
 * they are paired rightly here, hence `never`.
 */
export function usedKeys<T extends object>(
  table: T,
  values: { readonly [K in keyof T]?: unknown },
): { readonly entry: T[keyof T]; readonly value: never }[] {
  const keys = Object.keys(table) as (keyof T)[];
  return keys
    .filter((key) => values[key] !== undefined)
    .map((key) => ({ entry: table[key], value: values[key] as never }));
}
