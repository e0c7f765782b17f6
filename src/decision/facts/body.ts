import type { BodyValue, Call } from '../../core/call.ts';
import { inflateBody } from '../../inspect/decode/packed/inflate.ts';
import { isInOtherCharset, parseCallBody } from './body-structure.ts';

/**
 * The body without its content coding, of at most `maxBytes`; taken apart once and kept. Where that fails, or was done with a wider bound
 * before it was known whose call it is, the call is marked unreadable and the body is empty.
 */
export function plainBody(call: Call, maxBytes: number): Buffer {
  if (call.contentEncoding === '') return call.body;
  call.plain ??= inflated(call, maxBytes);
  if (call.plain.length > maxBytes) {
    call.unreadable ??= `The content decodes to more than the limit of ${maxBytes} bytes.`;
    call.plain = noBytes;
  }
  return call.plain;
}

/** Empty where it is unreadable. */
function inflated(call: Call, maxBytes: number): Buffer {
  const result = inflateBody(call.body, call.contentEncoding, maxBytes);
  if ('body' in result) return result.body;
  call.unreadable ??= result.unreadable;
  return noBytes;
}

const noBytes = Buffer.alloc(0);

/** The structure of the body, by its bytes and its declared type; read once and kept. See `parseCallBody`. */
export function bodyValue(call: Call, maxBytes: number): BodyValue {
  if (call.parsed === undefined) {
    const body = plainBody(call, maxBytes);
    call.parsed = call.unreadable === undefined ? parseCallBody(call.contentType, body) : { kind: 'unclear' };
  }
  return call.parsed;
}

/** Tells whether the body may have field names in bytes that a search for them does not find. */
export const mayHideNames = (call: Call, maxBytes: number): boolean =>
  isInOtherCharset(call.contentType, plainBody(call, maxBytes));
