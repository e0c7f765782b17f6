import { decodeBase64, toBase64, toText, toUtf8 } from './bytes.ts';
import { PosternError } from './errors.ts';

/** A body as the gateway takes it, of a call or of an answer. */
interface DescribedBody {
  /** The fields of the request that carry the body. */
  readonly fields: { readonly body?: unknown; readonly body_encoding?: 'base64' };
  /** Returns the sanitized body of the answer, in the type that the body has. */
  toSanitized(value: unknown): unknown;
}

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>;

/**
 * Describes a body. Bytes become text where they are just that, else base64, so that the gateway reads the
 * very bytes that are sent. Any other value stays as it is.
 */
export function describeBody(body: unknown, headers: HeaderFields | undefined): DescribedBody {
  const bytes = toBytes(body);
  if (!bytes) return { fields: body === undefined ? {} : { body }, toSanitized: (value) => value };
  if (bytes.length === 0) return { fields: {}, toSanitized: toBytesOf(toUtf8) };
  const text = isCoded(headers) ? undefined : toText(bytes);
  if (text !== undefined && isBriefInJson(text, bytes.length))
    return { fields: { body: text }, toSanitized: toBytesOf(toUtf8) };
  return {
    fields: { body: toBase64(bytes), body_encoding: 'base64' },
    toSanitized: toBytesOf(decodeBase64),
  };
}

function toBytes(body: unknown): Uint8Array | undefined {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : undefined;
}

/** Bytes that escapes in JSON may add. The gateway takes 64 KB more than a body. */
const escapesMax = 32_768;
const isBriefInJson = (text: string, length: number): boolean =>
  toUtf8(JSON.stringify(text)).length <= length + escapesMax;

/**
 * Tells whether headers name a coding. Such bytes go as base64, since codings count for bytes alone, and text
 * is taken as it stands.
 */
const isCoded = (headers: HeaderFields | undefined): boolean =>
  Object.keys(headers ?? {}).some((it) => /^(?:content-encoding|x-amz-content-sha256)$/i.test(it));

const toBytesOf =
  (decode: (text: string) => Uint8Array | undefined) =>
  (value: unknown): Uint8Array | undefined => {
    if (value === undefined) return undefined;
    const bytes = typeof value === 'string' ? decode(value) : undefined;
    if (!bytes) throw new PosternError('INVALID_ANSWER', "The gateway's answer has no valid sanitized_body.");
    return bytes;
  };
