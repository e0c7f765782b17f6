import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { isTooLarge } from './compression.ts';

const codingsMax = 3;

interface Options {
  readonly maxOutputLength: number;
}

interface Inflated {
  readonly buffer: Buffer;
  /** `bytesWritten` counts what was read of the input. */
  readonly engine: { readonly bytesWritten: number };
}

type Decoder = (bytes: Buffer, options: Options) => Buffer | Inflated;

/** `deflate` is the zlib format (RFC 9110, 8.4.1.2), though some senders leave its frame out. */
const deflate: Decoder = (bytes, options) => {
  const hasFrame = ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0;
  return hasFrame ? inflateSync(bytes, options) : inflateRawSync(bytes, options);
};

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

/**
 * A body with its content codings (RFC 9110, 8.4) taken off, the last applied first. At most three codings and `maxBytes` of
 * result; whatever is unknown, broken, or followed by further bytes is unreadable, which is a sentence without content.
 */
export function inflateBody(
  bytes: Buffer,
  contentEncoding: string,
  maxBytes: number,
): { body: Buffer } | { unreadable: string } {
  const codings = codingsOf(contentEncoding);
  if (codings.length > codingsMax)
    return { unreadable: `The body has more than ${codingsMax} content codings.` };

  let body = bytes;
  for (const coding of codings.reverse()) {
    const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (!decoder) return { unreadable: 'The body has a content coding that the gateway does not know.' };
    const result = inflateOnce(body, decoder, maxBytes);
    if ('unreadable' in result) return result;
    body = result.body;
  }
  return { body };
}

/** The codings that a field names, in lower case and in the order in which they were applied; not `identity`, which is none. */
export const codingsOf = (contentEncoding: string): string[] =>
  contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');

function inflateOnce(
  bytes: Buffer,
  decoder: Decoder,
  maxBytes: number,
): { body: Buffer } | { unreadable: string } {
  try {
    const { buffer, engine } = decoder(bytes, withInfo(maxBytes)) as Inflated;
    // Bytes behind the end would leave unread.
    return engine.bytesWritten === bytes.length
      ? { body: buffer }
      : { unreadable: 'The compressed body is followed by other bytes.' };
  } catch (error) {
    return {
      unreadable: isTooLarge(error)
        ? `The body decompresses to more than the limit of ${maxBytes} bytes.`
        : 'The body is not what its content coding says.',
    };
  }
}

/** `info` makes the decoder answer with its engine, which the types do not know of. */
function withInfo(maxOutputLength: number): Options {
  const options = { maxOutputLength: Math.max(1, maxOutputLength), info: true };
  return options;
}
