import type { Call } from '../call.ts';
import { inflateBody } from '../text/inflate.ts';
import { jsonDepth } from '../text/locate.ts';
import { bodyFormat } from '../text/redact.ts';

const depthMax = 512;

/**
 * The body without its content coding, of at most `maxBytes`; taken apart once and kept. Where that fails the call is marked
 * unreadable and the body is empty.
 */
export function plainBody(call: Call, maxBytes: number): Buffer {
  if (call.contentEncoding === '') return call.body;
  if (call.plain) return call.plain;
  const inflated = inflateBody(call.body, call.contentEncoding, maxBytes);
  if ('unreadable' in inflated) call.unreadable ??= inflated.unreadable;
  const body = 'body' in inflated ? inflated.body : Buffer.alloc(0);
  call.plain = body;
  return body;
}

/** The body as a value: JSON parsed, a form as an object of its fields; undefined where it is neither. Parsed once. */
export function bodyValue(call: Call, maxBytes: number): unknown {
  call.parsed ??= { value: parse(call.contentType, plainBody(call, maxBytes)) };
  return call.parsed.value;
}

function parse(contentType: string, body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const format = bodyFormat(contentType, body);
  if (format === 'form') return Object.fromEntries(new URLSearchParams(body.toString('utf8')));
  if (format !== 'json' || jsonDepth(body, depthMax)) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // Not JSON after all: conditions on its fields are false, and what it carries is read as text.
    return undefined;
  }
}
