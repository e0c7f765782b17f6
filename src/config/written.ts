import type { Path } from './checks/mistakes.ts';

/*
 * Reads values before the schema has checked them. A value that is not of the wanted type counts as absent.
 */

export type Mapping = Readonly<Record<string, unknown>>;
/** A mapping in a list, and its place. */
export interface WrittenEntry {
  readonly path: Path;
  readonly item: Mapping;
}

export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const mapping = (value: unknown): Mapping => (isMapping(value) ? value : {});
export const writtenTextOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
export const writtenTextsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((it): it is string => typeof it === 'string') : [];

export function entriesOf(parent: Mapping, key: string, at: Path = []): readonly WrittenEntry[] {
  const items: unknown = parent[key];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown, index) =>
    isMapping(item) ? [{ path: [...at, key, index], item }] : [],
  );
}
