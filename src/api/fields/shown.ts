import type { z } from 'zod';
import { camelCase, type InCamelCase } from '../../config/section.ts';
import { toIsoOrNull } from './fields.ts';

/*
 * The way answers are written: the code has `createdAtMs`, and answers have `created_at`, as a text. Only the fields
 * that differ by more than their names are written out.
 */

declare const lacking: unique symbol;

/** The value that a record has for a field of an answer. */
type Found<R, K extends string> =
  InCamelCase<K> extends keyof R
    ? R[InCamelCase<K>]
    : `${InCamelCase<K>}Ms` extends keyof R
      ? R[`${InCamelCase<K>}Ms`] extends number
        ? string
        : string | null
      : typeof lacking;

/** The fields of an answer that a record does not have as the answer shows them. */
type Others<A, R> = { [K in keyof A as Found<R, K & string> extends Readonly<A[K]> ? never : K]: A[K] };

type Answer<S extends z.core.$ZodShape> = z.infer<z.ZodObject<S>>;

/** Returns a record as its schema has it. `others` are the fields that the record itself does not give. */
export function shown<S extends z.core.$ZodShape, R extends object>(
  schema: z.ZodObject<S>,
  record: R,
  others: Others<Answer<S>, R> & Partial<Answer<S>>,
): Answer<S> {
  const given: Readonly<Record<string, unknown>> = others;
  const held = record as Readonly<Record<string, unknown>>;
  const answered = (name: string): unknown => {
    const own = camelCase(name);
    if (Object.hasOwn(given, name)) return given[name];
    if (own in held) return held[own];
    const ms = held[`${own}Ms`] as number | null | undefined;
    return ms === undefined ? undefined : toIsoOrNull(ms);
  };
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, answered(name)])) as Answer<S>;
}
