import * as z from 'zod';

/*
 * The way the schema is written: users read and write `scan_timeout: 250ms`, and the code reads
 * `scanTimeoutMs`. A section takes the keys as they stand in the file. It gives a frozen object with names in
 * camelCase, with `Ms` after times. So every key is written once, and no second list of names can fall behind
 * the first.
 */

declare const unit: unique symbol;
/**
 * A time. Only `duration` and `configInstant` make it. In a section it becomes a plain number named `…Ms`.
 */
export type Milliseconds = number & { readonly [unit]: 'ms' };

const times = z.registry<{ unit: 'ms' }>();

/** Marks a schema whose value is a time, so that `section` puts `Ms` after its name. */
export function durationField<T extends z.ZodType<Milliseconds>>(schema: T): T {
  times.add(schema, { unit: 'ms' });
  return schema;
}

export type InCamelCase<S extends string> = S extends `${infer A}_${infer B}`
  ? `${A}${Capitalize<InCamelCase<B>>}`
  : S;
type Name<K extends string, V> = [Extract<V, Milliseconds>] extends [never]
  ? InCamelCase<K>
  : `${InCamelCase<K>}Ms`;
type Plain<V> = V extends Milliseconds ? number : V;
type Section<S extends z.core.$ZodShape> = {
  readonly [K in keyof S & string as Name<K, z.output<S[K]>>]: Plain<z.output<S[K]>>;
};

function isTime(schema: z.core.$ZodType): boolean {
  for (let at: z.core.$ZodType | undefined = schema; at; at = (at._zod.def as Wrapper).innerType) {
    if (times.get(at as z.ZodType<Milliseconds>)) return true;
  }
  return false;
}

type Wrapper = z.core.$ZodTypeDef & { readonly innerType?: z.core.$ZodType };

export const camelCase = (key: string): string =>
  key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/**
 * Returns the schema of a mapping with exactly these keys. Others are refused: a misspelt limit must not
 * silently become no limit.
 */
export function section<S extends z.core.$ZodShape>(shape: S) {
  const names = Object.entries(shape).map(
    ([key, schema]) => [key, camelCase(key) + (isTime(schema) ? 'Ms' : '')] as const,
  );
  return z.strictObject(shape).transform((read): Section<S> => {
    const values = read as Readonly<Record<string, unknown>>;
    return Object.freeze(Object.fromEntries(names.map(([key, name]) => [name, values[key]]))) as Section<S>;
  });
}

/** Returns a schema that takes null, too. Null is its value where the file says nothing. */
export const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);

/** Returns the values of `base`, each replaced by that of `own` unless it is null. */
export const over = <T extends object>(base: T, own: { readonly [K in keyof T]: T[K] | null }): Readonly<T> =>
  Object.freeze(
    Object.fromEntries(Object.entries(base).map(([name, it]) => [name, own[name as keyof T] ?? it])),
  ) as Readonly<T>;

/** Returns the schema of a bounded list, which is empty where the file says nothing. */
export const list = <T extends z.core.$ZodType>(item: T, max = 10_000) =>
  z.array(item).max(max).readonly().prefault([]);

/**
 * Returns the schema of a bounded mapping whose keys users choose. Its value is a map, so that no name finds
 * what objects inherit.
 */
export const table = <V extends z.core.$ZodType>(key: z.ZodType<string, string>, value: V, max = 10_000) =>
  z
    .record(key, z.optional(value))
    .refine((read) => Object.keys(read).length <= max, { error: `must have at most ${max} entries` })
    .transform((read): ReadonlyMap<string, z.output<V>> => {
      const entries = Object.entries(read) as [string, z.output<V> | undefined][];
      return new Map(entries.filter((it): it is [string, z.output<V>] => it[1] !== undefined));
    })
    .prefault({});
