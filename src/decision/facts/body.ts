import type { BodyValue, ReceivedCall } from '../../core/call.ts';
import { inflateBody } from '../../inspect/decode/packed/inflate.ts';
import { isInOtherCharset, parseCallBody } from './body-structure.ts';

/**
 * Returns the body without its content coding, of at most `maxBytes`. It is decoded once and kept. Where
 * decoding fails, the call is marked unreadable and its body is empty. That is also so where the body was
 * decoded within a wider bound, before the caller was known.
 */
export function plainBody(call: ReceivedCall, maxBytes: number): Buffer {
  if (call.contentEncoding === '') return call.body;
  const { readings } = call;
  readings.plain ??= inflated(call, maxBytes);
  if (readings.plain.length > maxBytes) {
    readings.unreadable ??= `the content decodes to more than the limit of ${maxBytes} bytes`;
    readings.plain = noBytes;
  }
  return readings.plain;
}

/** Returns the decoded body; empty where it is unreadable. */
function inflated({ body, contentEncoding, readings }: ReceivedCall, maxBytes: number): Buffer {
  const result = inflateBody(body, contentEncoding, maxBytes);
  if ('body' in result) return result.body;
  readings.unreadable ??= result.unreadable;
  return noBytes;
}

const noBytes = Buffer.alloc(0);

/**
 * Returns the structure of the body by its bytes and its declared type (`parseCallBody`). It is read once and
 * kept.
 */
export function bodyValue(call: ReceivedCall, maxBytes: number): BodyValue {
  const { readings, contentType } = call;
  if (readings.parsed === undefined) {
    const body = plainBody(call, maxBytes);
    readings.parsed =
      readings.unreadable === undefined ? parseCallBody(contentType, body) : { kind: 'unclear' };
  }
  return readings.parsed;
}

/** Tells whether the body may have field names in bytes that a search for them does not find. */
export function mayHideNames(call: ReceivedCall, maxBytes: number): boolean {
  const body = plainBody(call, maxBytes);
  if (isInOtherCharset(call.contentType, body)) return true;
  // Names of parts may have escapes, or the form of RFC 2231; protobuf has numbers for names.
  return /^multipart\//i.test(call.contentType)
    ? body.includes('\\') || body.includes('name*')
    : /kubernetes\.protobuf/i.test(call.contentType);
}

/** Returns what rules see of the structure: XML and CBOR have one that they cannot tell. */
export function bodyFields(call: ReceivedCall, maxBytes: number): BodyValue {
  const value = bodyValue(call, maxBytes);
  return value.kind === 'none' && /^[^;]*(?:xml|cbor)/i.test(call.contentType) ? { kind: 'unclear' } : value;
}
