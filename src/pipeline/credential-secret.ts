import * as z from 'zod';
import type { CredentialConfig } from '../config/schema.ts';
import type { Secret } from './injection.ts';

/** The types that can be sent; the others of the configuration are refused when it is loaded. */
export const sentTypes = ['bearer', 'basic', 'headers', 'query'] as const;
export type SentType = (typeof sentTypes)[number];
export const isSentType = (type: string): type is SentType => (sentTypes as readonly string[]).includes(type);

/** What stands in the file; undefined for a type that is not sent. */
export function toSecret(config: CredentialConfig): Secret | undefined {
  switch (config.type) {
    case 'bearer':
      return { type: 'bearer', value: config.value ?? '' };
    case 'basic':
      return { type: 'basic', username: config.username ?? '', password: config.password ?? '' };
    case 'headers':
      return { type: 'headers', values: config.values ?? new Map() };
    case 'query':
      return { type: 'query', parameter: config.parameter ?? config.name, value: config.value ?? '' };
    default:
      return undefined;
  }
}

/** What may stand in a header field or a query (RFC 9110, 5.5). */
const text = z.string().regex(/^[\t\x20-\x7e\x80-\xff]{1,65536}$/, {
  error: 'must be 1 to 65536 characters of one line of Latin-1',
});
const fieldName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, { error: 'must be the name of a header' });
const ofConnection =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*)$/i;

/** The fields of a secret by type, as they are given to be sealed. */
export const secretSchemas = {
  bearer: z.strictObject({ value: text }),
  basic: z.strictObject({ username: text, password: text }),
  headers: z.strictObject({
    values: z
      .record(fieldName, text)
      .refine((it) => Object.keys(it).every((name) => !ofConnection.test(name)), {
        error: 'has a header that a credential cannot set',
      })
      .refine((it) => Object.keys(it).length >= 1 && Object.keys(it).length <= 32, {
        error: 'must have 1 to 32 headers',
      }),
  }),
  query: z.strictObject({ value: text }),
} as const satisfies Record<SentType, z.ZodType>;

/** What was sealed in the vault; undefined for a type that is not sent. `parameter` is the name of a query's. */
export function parseSecret(type: string, json: string, parameter: string): Secret | undefined {
  if (!isSentType(type)) return undefined;
  const fields: unknown = JSON.parse(json);
  switch (type) {
    case 'bearer':
      return { type, ...secretSchemas.bearer.parse(fields) };
    case 'basic':
      return { type, ...secretSchemas.basic.parse(fields) };
    case 'headers':
      return { type, values: new Map(Object.entries(secretSchemas.headers.parse(fields).values)) };
    case 'query':
      return { type, parameter, ...secretSchemas.query.parse(fields) };
  }
}
