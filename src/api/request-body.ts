import type { z } from 'zod';
import { GatewayError } from '../core/errors.ts';
import { inWords } from '../util/schema-words.ts';
import { readYaml, type YamlMistake } from '../util/yaml.ts';
import type { BodyBounds } from '../wire/server/collect.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { ignoredFields } from './fields/ignored-fields.ts';
import { invalid } from './fields/invalid.ts';
import type { Route } from './route.ts';

/** Bytes of a body in YAML. Parsing them takes the event loop a tenth of a second at worst. */
const yamlBytesMax = 32_768;

const noBody = Buffer.alloc(0);

/** A body or query as the schema reads it, and the names of what it has read past. */
interface Parsed {
  readonly value: unknown;
  readonly ignored: readonly string[];
}

const nothing: Parsed = { value: undefined, ignored: [] };

export const formType = 'application/x-www-form-urlencoded';

export function readRequestBody(exchange: Exchange, bounds: BodyBounds): Promise<Buffer> {
  if (!exchange.hasBody) return Promise.resolve(noBody);
  return new Promise((resolve, reject) => {
    let isAwaited = true;
    // A client that leaves is told nothing, and `collect` calls neither function.
    exchange.answer.once('close', () => {
      if (isAwaited)
        reject(new GatewayError('VALIDATION_FAILED', 'The request ended before its body was there.'));
    });
    const done = (body: Buffer): void => {
      isAwaited = false;
      resolve(body);
    };
    exchange.collect(bounds, { done, failed: reject });
  });
}

/**
 * Parses the body by the route's schema, as JSON by default, and as YAML or a form where the route takes it.
 * Throws where it is not valid.
 */
export function parseBody(route: Route, raw: Buffer, contentType: string): Parsed {
  if (!route.body || (route.isBodyOptional && raw.length === 0)) return nothing;
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  if (route.takesForm) {
    if (type !== formType) throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', `Send ${formType}.`);
    return validate(route.body, toFields(new URLSearchParams(decode(raw))));
  }
  const isYaml = type === 'application/yaml' || type === 'text/yaml' || type === 'application/x-yaml';
  if (isYaml ? !route.takesYaml : type !== '' && type !== 'application/json' && !type.endsWith('+json'))
    throw new GatewayError(
      'UNSUPPORTED_MEDIA_TYPE',
      route.takesYaml ? 'Send application/json or application/yaml.' : 'Send application/json.',
    );
  if (isYaml && raw.length > yamlBytesMax) {
    throw new GatewayError(
      'PAYLOAD_TOO_LARGE',
      `YAML may have ${yamlBytesMax} bytes here; send JSON, or put the policy into a file.`,
      { actual_bytes: raw.length, limit_bytes: yamlBytesMax },
    );
  }
  return validate(route.body, isYaml ? readYamlBody(raw) : readJson(raw));
}

/**
 * Parses the query by the route's schema. Throws VALIDATION_FAILED where a parameter stands there twice,
 * since nobody can tell which one counts.
 */
export function parseQuery(route: Route, params: URLSearchParams): Parsed {
  if (params.size === 0 && !route.query) return nothing;
  const fields = toFields(params);
  return route.query
    ? validate(route.query, fields)
    : { value: undefined, ignored: ignoredFields(undefined, fields) };
}

function toFields(params: URLSearchParams): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of params) {
    if (name in fields) throw invalid([{ path: name.slice(0, 64), message: 'stands there more than once' }]);
    fields[name] = value;
  }
  return { ...fields };
}

function readJson(raw: Buffer): unknown {
  const text = decode(raw);
  try {
    return JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which may hold a secret.
    throw invalid([{ path: '', message: 'The body is not valid JSON.' }]);
  }
}

function readYamlBody(raw: Buffer): unknown {
  const { documents, mistakes } = readYaml(decode(raw));
  if (mistakes.length > 0) throw invalid(mistakes.map(toError));
  return documents[0]?.value;
}

const toError = ({ line, column, message }: YamlMistake): { path: string; message: string } => ({
  path: '',
  message: `The body is not valid YAML: line ${line}, column ${column}: ${message}.`,
});

// A mark at the beginning stays and makes the text no JSON (RFC 8259, 8.1). Others read the same bytes again.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(raw: Buffer): string {
  try {
    return strictUtf8.decode(raw);
  } catch {
    throw invalid([{ path: '', message: 'The body is not UTF-8.' }]);
  }
}

function validate(schema: z.ZodType, value: unknown): Parsed {
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data, ignored: ignoredFields(schema, value) };
  throw invalid(result.error.issues.map((it) => ({ path: it.path.join('.'), message: inWords(it) })));
}
