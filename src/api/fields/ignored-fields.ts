import { z } from 'zod';

/** The number of names that an answer tells. */
const namesMax = 10;
const nameLengthMax = 64;

/**
 * Returns the paths of members that a schema does not know, and reads past, such as `scope.verb`. There are
 * none where it takes or refuses such members by itself. The first ten are returned, shortened.
 */
export function ignoredFields(schema: z.ZodType | undefined, value: unknown): readonly string[] {
  const found: string[] = [];
  for (const path of ignoredIn(schema ?? z.object({}), value, '')) {
    // The router itself reads it of every request.
    if (path !== 'tenant_id') found.push(path);
    if (found.length === namesMax) break;
  }
  return found;
}

function* ignoredIn(schema: z.ZodType, value: unknown, path: string): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  const meant = withoutAbsence(schema);
  if (meant instanceof z.ZodArray && Array.isArray(value)) {
    for (const [at, entry] of value.entries())
      yield* ignoredIn(meant.element as z.ZodType, entry, `${path}${at}.`);
  } else if (meant instanceof z.ZodObject && !Array.isArray(value)) {
    for (const [name, member] of Object.entries(value)) {
      const known: z.ZodType | undefined = Object.hasOwn(meant.shape, name) ? meant.shape[name] : undefined;
      const at = `${path}${name.slice(0, nameLengthMax)}`;
      if (known) yield* ignoredIn(known, member, `${at}.`);
      else if (!meant.def.catchall) yield at;
    }
  }
}

const withoutAbsence = (schema: z.ZodType): z.ZodType =>
  schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
    ? withoutAbsence(schema.unwrap() as z.ZodType)
    : schema;
