import type { Environment } from './checks/references.ts';
import { isMapping } from './written.ts';
import type { ConfigYaml } from './yaml.ts';

/* Tells where each value was set, so that whoever wonders about it knows where to change it. */

type OriginKind = 'file' | 'environment' | 'command line' | 'first start';

/** The place where a value is set. A value without such a place is a default. */
export interface ValueOrigin {
  /** The path in the file, with dots. Tenants and inbound routes stand in it by their names. */
  readonly path: string;
  readonly from: OriginKind;
  /** The line in the file, from 1. */
  readonly line?: number;
  /** The variable or the option that sets the value, or the file that a text comes from. */
  readonly name?: string;
}

/** A value from a variable, which replaces that of the file. */
export interface LaidOver {
  readonly path: readonly [section: string, key: string];
  readonly variable: string;
}

/** The variable that says which other variables the command line or the first start has set. */
const noteName = 'POSTERN_SET_BY';
const noted = /^([A-Z_]{1,64})=(--[a-z]{1,32}|first-start)$/;

/**
 * Returns the environment with a variable set. `by` is the option that sets it (`--listen`), or
 * `first-start`.
 */
export function withSetting(env: Environment, variable: string, value: string, by: string): Environment {
  const others = (env[noteName] ?? '').split(' ').filter((it) => noted.exec(it)?.[1] !== variable);
  return { ...env, [variable]: value, [noteName]: [...others, `${variable}=${by}`].join(' ').trim() };
}

function originOf({ path, variable }: LaidOver, env: Environment): ValueOrigin {
  const by = (env[noteName] ?? '').split(' ').find((it) => it.startsWith(`${variable}=`));
  const setter = by === undefined ? undefined : noted.exec(by)?.[2];
  const dottedPath = path.join('.');
  if (setter === 'first-start') return { path: dottedPath, from: 'first start' };
  if (setter !== undefined) return { path: dottedPath, from: 'command line', name: setter };
  return { path: dottedPath, from: 'environment', name: variable };
}

const depthMax = 8;
/** Lists whose items have names in the configuration in effect, and the key that names each. */
const namedLists: Readonly<Record<string, string>> = { tenants: 'id', inbound: 'prefix' };

/** Returns where each value of a configuration is set. A list is one value, unless its items have names. */
export function originsOf(
  source: ConfigYaml,
  laid: readonly LaidOver[],
  { file, env }: { readonly file: string | undefined; readonly env: Environment },
): readonly ValueOrigin[] {
  const found: ValueOrigin[] = [];
  const over = new Set(laid.map(({ path }) => path.join('.')));
  const walk = (value: unknown, path: readonly PropertyKey[], shown: string, depth: number): void => {
    if (value === undefined || over.has(shown)) return;
    const nameOf = Array.isArray(value) ? namedLists[shown] : undefined;
    if (nameOf !== undefined) {
      for (const [index, item] of (value as unknown[]).entries())
        if (isMapping(item)) walk(item, [...path, index], `${shown}.${String(item[nameOf])}`, depth + 1);
    } else if (isMapping(value) && depth < depthMax) {
      for (const [key, it] of Object.entries(value))
        walk(it, [...path, key], shown === '' ? key : `${shown}.${key}`, depth + 1);
    } else if (shown !== '') {
      const { line } = source.placeOf(path);
      const name = source.outsideOf(path);
      found.push({
        path: shown,
        from: file === undefined ? 'first start' : 'file',
        ...(line === undefined ? {} : { line }),
        ...(name === undefined ? {} : { name }),
      });
    }
  };
  walk(source.value, [], '', 0);
  return Object.freeze([...found, ...laid.map((it) => originOf(it, env))]);
}
