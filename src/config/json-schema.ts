import * as z from 'zod';
import { lazily } from '../util/lazily.ts';
import { configSchema } from './schema.ts';

/** The part of JSON Schema (2020-12) that the configuration needs. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

const reference = { type: 'string', pattern: '\\$\\{(env|file):' } as const;
const notAsked = new Set(['$schema', 'title', 'description', 'default']);

/**
 * Returns the schema for editors. In it null stands for the default of every key, and a reference can replace
 * any scalar.
 */
export function toJsonSchema(): JsonSchema {
  return loosened(plainSchema());
}

/** Returns the schema as zod makes it. */
const plainSchema = (): JsonSchema =>
  z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;

function loosened(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf, required = [] } = schema;
  const each = (all: readonly JsonSchema[]) => all.map(loosened);
  const entry = ([name, inner]: [string, JsonSchema]) => [
    name,
    allow(loosened(inner), !required.includes(name)),
  ];
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(entry)) }),
    ...(items && { items: loosened(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: loosened(additionalProperties) }),
    ...(anyOf && { anyOf: each(anyOf) }),
    ...(oneOf && { oneOf: each(oneOf) }),
  };
}

/** Returns the schema of a key that may also be a reference, and null if `allowNull`. */
function allow(schema: JsonSchema, allowNull: boolean): JsonSchema {
  const said = Object.fromEntries(Object.entries(schema).filter(([keyword]) => notAsked.has(keyword)));
  const asked = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !notAsked.has(keyword)));
  const isScalar = !schema.properties && !schema.items && !schema.additionalProperties && !schema.oneOf;
  const choices = schema.anyOf ?? [asked];
  const hasNull = choices.some((it) => it.type === 'null');
  return {
    ...said,
    anyOf: [
      ...choices,
      ...(isScalar ? [reference] : []),
      ...(allowNull && !hasNull ? [{ type: 'null' }] : []),
    ],
  };
}

const known = lazily(plainSchema);

/** Returns the keys that the schema has at a path; empty where there can be none. */
export function keysAt(path: readonly PropertyKey[]): ReadonlySet<string> {
  let here: readonly JsonSchema[] = alternatives(known());
  for (const step of path) here = here.flatMap((schema) => inside(schema, step)).flatMap(alternatives);
  return new Set(here.flatMap((schema) => Object.keys(schema.properties ?? {})));
}

function inside(schema: JsonSchema, step: PropertyKey): readonly JsonSchema[] {
  if (typeof step === 'number') return schema.items ? [schema.items] : [];
  const named =
    schema.properties && Object.hasOwn(schema.properties, step) ? schema.properties[String(step)] : undefined;
  const other = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  return [named ?? other].filter((it) => it !== undefined);
}

const alternatives = (schema: JsonSchema): readonly JsonSchema[] =>
  [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((it) =>
    it === schema ? [it] : alternatives(it),
  );
