import { parse as parseYaml } from 'yaml';
import type { z } from 'zod';
import { GatewayError } from '../errors.ts';
import type { NodeExchange } from '../http/node-exchange.ts';
import { invalid } from './invalid.ts';
import type { Route } from './route.ts';

/** Reading YAML is quadratic in places, and the event loop is everybody's. */
const yamlBytesMax = 65_536;

export function readBody(exchange: NodeExchange, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    exchange.request.once('close', () =>
      reject(new GatewayError('VALIDATION_FAILED', 'The request ended before its body was there.')),
    );
    exchange.collect(bytesMax, { done: resolve, failed: reject });
  });
}

/** The body as the route's schema has it. JSON, or YAML where the route takes it; without a type it is read as JSON. */
export function parseBody(route: Route, raw: Buffer, contentType: string): unknown {
  if (!route.body || (route.isBodyOptional && raw.length === 0)) return undefined;
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  const isYaml = type === 'application/yaml' || type === 'text/yaml' || type === 'application/x-yaml';
  if (isYaml ? !route.takesYaml : type !== '' && type !== 'application/json' && !type.endsWith('+json'))
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send application/json.');
  if (isYaml && raw.length > yamlBytesMax) {
    throw new GatewayError(
      'PAYLOAD_TOO_LARGE',
      `YAML may have ${yamlBytesMax} bytes here; send JSON, or put the policy into a file.`,
      { actual_bytes: raw.length, limit_bytes: yamlBytesMax },
    );
  }
  return validate(route.body, isYaml ? readYaml(raw) : readJson(raw));
}

/** The query as the route's schema has it; a parameter that stands there twice cannot be told. */
export function parseQuery(route: Route, params: URLSearchParams): unknown {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of params) {
    if (name in fields) throw invalid([{ path: name.slice(0, 64), message: 'stands there more than once' }]);
    fields[name] = value;
  }
  return route.query ? validate(route.query, { ...fields }) : undefined;
}

// The parsers' own messages quote the text, which may hold a secret.
function readJson(raw: Buffer): unknown {
  try {
    return JSON.parse(decode(raw));
  } catch {
    throw invalid([{ path: '', message: 'The body is not valid JSON.' }]);
  }
}

function readYaml(raw: Buffer): unknown {
  try {
    // Without its own voice: the parser would print what it doubts to standard error.
    return parseYaml(decode(raw), { maxAliasCount: 50, logLevel: 'error' });
  } catch {
    throw invalid([{ path: '', message: 'The body is not valid YAML.' }]);
  }
}

const decode = (raw: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(raw);

function validate(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(result.error.issues.map((it) => ({ path: it.path.join('.'), message: it.message })));
}
