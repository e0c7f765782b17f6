import { type Document, isScalar, parseDocument, visit } from 'yaml';
import type { z } from 'zod';
import { GatewayError } from '../errors.ts';
import type { NodeExchange } from '../http/node-exchange.ts';
import { invalid } from './invalid.ts';
import type { Route } from './route.ts';

/** Reading YAML costs some microseconds a byte, and the event loop is everybody's: so much takes a tenth of a second at worst. */
const yamlBytesMax = 32_768;
/**
 * Without aliases, of which a few make a bomb. The parser's own look for keys that stand twice compares each with all the others, its
 * messages show where in the text it stands, and what it merely doubts goes to standard error.
 */
const yamlOptions = { uniqueKeys: false, prettyErrors: false, stringKeys: true, logLevel: 'error' } as const;

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
    const document = parseDocument(decode(raw), yamlOptions);
    if (document.errors.length === 0 && !hasKeyTwice(document)) return document.toJS({ maxAliasCount: 0 });
  } catch {
    // It is no UTF-8, or has an alias.
  }
  const message = 'The body is not valid YAML, or has an alias or a key that stands twice.';
  throw invalid([{ path: '', message }]);
}

function hasKeyTwice(document: Document.Parsed): boolean {
  let isTwice = false;
  visit(document, {
    Map(_, { items }) {
      const names = new Set(items.map(({ key }) => (isScalar(key) ? key.value : key)));
      isTwice = names.size < items.length;
      return isTwice ? visit.BREAK : undefined;
    },
  });
  return isTwice;
}

const decode = (raw: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(raw);

function validate(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(result.error.issues.map((it) => ({ path: it.path.join('.'), message: it.message })));
}
