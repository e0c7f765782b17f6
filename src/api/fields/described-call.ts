import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { jsonValueSpan } from '../../inspect/redact/locate.ts';
import { saysAwsChunked } from '../../wire/http1/aws-chunked.ts';
import { uuid } from './fields.ts';
import { invalid } from './invalid.ts';

/* A call as requests describe it. */

export const bodyEncoding = z
  .enum(['base64'])
  .nullish()
  .describe('The body is a text in base64 of what is sent; for bytes that are no text');

export const describedCall = z.object({
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/, 'must be an HTTP method'),
  url: z.string().min(1).max(65_536).describe('Absolute'),
  body: z.unknown().optional(),
  body_encoding: bodyEncoding,
  headers: z.unknown().optional().describe('An object of texts, or of lists of texts'),
  agent_id: uuid.nullish(),
  agent_name: z.string().max(128).nullish(),
  runtime_type: z.string().max(64).nullish(),
  context: z.string().max(65_536).nullish(),
  env: z.string().max(128).nullish(),
});

/** The name of a header field, a token (RFC 9110, 5.6.2). */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const headersMax = 1000;

export interface DescribedBody {
  readonly bytes: Buffer;
  /** How the body was described: as a string (or not at all), as another value of JSON, or in base64. */
  readonly form: 'text' | 'json' | 'base64';
}

/** Returns the body as the proxy would see it: bytes of text or base64, or the JSON of another value. */
export function describedBody(
  value: unknown,
  raw: Buffer,
  field = 'body',
  encoding?: z.output<typeof bodyEncoding>,
): DescribedBody {
  if (value === undefined || value === null) return { bytes: Buffer.alloc(0), form: 'text' };
  if (encoding === 'base64') return { bytes: fromBase64(value, field), form: 'base64' };
  if (typeof value === 'string') return { bytes: Buffer.from(value, 'utf8'), form: 'text' };
  const span = jsonValueSpan(raw, field);
  if (!span)
    throw new GatewayError('VALIDATION_FAILED', 'The body of the call cannot be told from the request.');
  return { bytes: raw.subarray(span.start, span.end), form: 'json' };
}

/** Decodes base64 (RFC 4648, 4). Throws VALIDATION_FAILED for what two readers could decode differently. */
function fromBase64(value: unknown, field: string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
  if (bytes?.toString('base64') !== value)
    throw invalid([{ path: field, message: 'must be base64 (RFC 4648, 4) where body_encoding says so' }]);
  return bytes as Buffer;
}

/**
 * Returns the described headers as a flat list [name, value, …] in which, as on the wire, one character is
 * one byte. It reads the parsed object itself, since a header may have a name that objects treat specially.
 * Throws VALIDATION_FAILED.
 */
export function flatHeaders(described: unknown): string[] {
  if (described === undefined || described === null) return [];
  if (typeof described !== 'object' || Array.isArray(described))
    throw invalid([{ path: 'headers', message: 'must be an object' }]);
  const flat: string[] = [];
  for (const [name, value] of Object.entries(described)) {
    if (!fieldName.test(name))
      throw invalid([{ path: 'headers', message: 'has a name that is no header name' }]);
    for (const one of Array.isArray(value) ? value : [value]) {
      const text = ['string', 'number', 'boolean'].includes(typeof one) ? String(one) : undefined;
      if (text === undefined || /[\r\n\0]/.test(text)) {
        // The message does not say which field it is, since its name may hold a secret.
        throw invalid([{ path: 'headers', message: 'must be texts without line ends, or lists of such' }]);
      }
      flat.push(name, Buffer.from(text, 'utf8').toString('latin1'));
    }
  }
  if (flat.length > headersMax * 2)
    throw invalid([{ path: 'headers', message: `may have ${headersMax} fields` }]);
  return flat;
}

/**
 * Returns the content type of a described body. A body described as a value is JSON, whatever its header
 * says, and is answered as JSON.
 */
export const contentTypeOf = ({ form }: DescribedBody, headers: readonly string[]): string =>
  form === 'json' ? 'application/json' : (headerOf(headers, 'content-type') ?? '');

/**
 * Returns the content codings of a body in base64, comma-separated. A text or a value is described without
 * codings, so that they are '' then.
 */
export function contentEncodingOf({ form }: DescribedBody, headers: readonly string[]): string {
  if (form !== 'base64') return '';
  const codings = headers.filter((_, i) => i % 2 === 1 && isNamed(headers, i - 1, 'content-encoding'));
  // S3 takes the chunks off whether or not Content-Encoding says that there are some.
  const isChunked = headers.some(
    (it, i) => i % 2 === 1 && isNamed(headers, i - 1, 'x-amz-content-sha256') && saysAwsChunked(it),
  );
  return [...codings, ...(isChunked ? ['aws-chunked'] : [])].join(', ');
}

const isNamed = (flat: readonly string[], at: number, name: string): boolean =>
  flat[at]?.toLowerCase() === name;

function headerOf(flat: readonly string[], name: string): string | undefined {
  const at = flat.findIndex((it, i) => i % 2 === 0 && it.toLowerCase() === name);
  return at < 0 ? undefined : flat[at + 1];
}
