import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/schema.ts';
import { replaceFile } from '../../util/files/replace-file.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { inSlices } from '../../util/pace.ts';

/** The result of the last reload, kept for people on this machine. */
export interface LastReload {
  readonly at: string;
  readonly generation: number;
  /** Paths of keys whose value changed, at most 100. Paths of secrets are among them, values never. */
  readonly changed: readonly string[];
  /** The reason why it was refused; null where it was taken. */
  readonly error: string | null;
}

export const lastReloadFile = ({ state }: Pick<Config, 'state'>): string =>
  join(state.dir, 'last-reload.json');

/** Writes the result of a reload, in one step. A reload is taken even if this file cannot be written. */
export function noteReload(config: Config, reload: Omit<LastReload, 'at'>): void {
  const file = lastReloadFile(config);
  try {
    const text = JSON.stringify({ at: new Date().toISOString(), ...reload });
    replaceFile(file, `${text}\n`, 0o600);
  } catch {
    // The log has the same facts.
  }
}

const changedMax = 100;

/** Returns at most 100 paths of keys whose values differ, as the file names them. */
export const changedKeys = (before: Config, after: Config): MaybePromise<readonly string[]> =>
  inSlices(findChanged(before, after));

function* findChanged(before: Config, after: Config): Generator<undefined, readonly string[]> {
  const found: string[] = [];
  function* walk(a: unknown, b: unknown, path: string): Generator<undefined> {
    if (found.length >= changedMax || a === b || typeof a === 'function') return;
    const [left, right] = [entriesOf(a), entriesOf(b)];
    if (!left || !right) {
      if (!isSame(a, b)) found.push(path);
      return;
    }
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      yield* walk(left.get(name), right.get(name), path === '' ? name : `${path}.${name}`);
      yield;
    }
  }
  const { warnings: _, origins: __, ...old } = before;
  const { warnings: ___, origins: ____, ...next } = after;
  yield* walk(old, next, '');
  return found;
}

/**
 * Tells whether two values are the same. Lists are compared entry by entry, since a reload keeps the entries
 * that did not change.
 */
const isSame = (a: unknown, b: unknown): boolean =>
  Array.isArray(a) && Array.isArray(b)
    ? a.length === b.length && a.every((it, index) => it === b[index] || isDeepStrictEqual(it, b[index]))
    : isDeepStrictEqual(a, b);

/**
 * Returns a mapping's members by their names in the file; undefined for any other value. Lists and
 * sets count as one value.
 */
function entriesOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (value instanceof Map) return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Set)
    return undefined;
  return new Map(Object.entries(value).map(([name, it]) => [toKey(name), it]));
}

const toKey = (name: string): string =>
  name.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
