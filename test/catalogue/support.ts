import type { Request } from '../../src/catalogue/catalogue.ts';
import { parseTarget } from '../../src/core/target.ts';
import { isInOtherCharset, parseCallBody } from '../../src/decision/facts/body-structure.ts';

const structureOf = (contentType: string, body: string) => parseCallBody(contentType, Buffer.from(body));

/** A request as an entrance would describe it; an object is sent as JSON, a text without a declared type as a form. */
export function requestOf(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Request {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const implied = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json';
  const declared = headers['content-type'] ?? (body === undefined ? '' : implied);
  return {
    method,
    target: parseTarget(url),
    headers: Object.entries({ ...headers, ...(declared ? { 'Content-Type': declared } : {}) }).flat(),
    contentType: declared,
    bodyText: () => text,
    mentions: (word) => text?.includes(word) ?? false,
    isInOtherCharset: () => isInOtherCharset(declared, Buffer.from(text ?? '')),
    bodyValue: () => structureOf(declared, text ?? ''),
    structureOf,
  };
}
