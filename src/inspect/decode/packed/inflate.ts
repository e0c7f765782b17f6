import type { Transform } from 'node:stream';
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { parseAwsChunked } from '../../../wire/http1/aws-chunked.ts';
import { isTooLarge } from './compression.ts';

const codingsMax = 3;

interface Options {
  readonly maxOutputLength: number;
}

export interface Inflated {
  readonly buffer: Buffer;
  /** The engine, whose property `bytesWritten` counts the input that was read. */
  readonly engine: { readonly bytesWritten: number };
}

type Decoder = (bytes: Buffer, options: Options) => Buffer | Inflated;

/**
 * Tells whether bytes have the zlib format, which `deflate` means (RFC 9110, 8.4.1.2). Some senders omit its
 * frame.
 */
export const isZlib = (bytes: Buffer): boolean =>
  ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.length > 1 && bytes.readUInt16BE(0) % 31 === 0;

const deflate: Decoder = (bytes, options) =>
  isZlib(bytes) ? inflateSync(bytes, options) : inflateRawSync(bytes, options);

/** The coding of uploads to S3. It is always the outermost, and S3 removes it. */
export const awsChunkedCoding = 'aws-chunked';

function unchunked(bytes: Buffer): Inflated {
  const parsed = parseAwsChunked(bytes);
  if (!parsed) throw new TypeError('the chunks are broken');
  return { buffer: Buffer.concat(parsed.chunks), engine: { bytesWritten: bytes.length } };
}

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  [awsChunkedCoding]: unchunked,
};

/**
 * Removes the content codings of a body (RFC 9110, 8.4), the last applied first. It takes at most three
 * codings and makes `maxBytes`. Unknown or broken codings and trailing bytes are unreadable; the reason is a
 * sentence without content.
 */
export function inflateBody(
  bytes: Buffer,
  contentEncoding: string,
  maxBytes: number,
): { body: Buffer } | { unreadable: string } {
  const codings = codingsOf(contentEncoding);
  if (codings.length > codingsMax)
    return { unreadable: `the body has more than ${codingsMax} content codings` };

  let body = bytes;
  for (const coding of codings.reverse()) {
    const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
    if (!decoder) return { unreadable: 'the body has a content coding that the gateway does not know' };
    const result = inflateOnce(body, decoder, maxBytes);
    if ('unreadable' in result) return result;
    body = result.body;
  }
  return { body };
}

type Begin = (bytes: Buffer) => Transform;

const streams: Readonly<Record<string, Begin>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (bytes) => (isZlib(bytes) ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** Tells whether content in this one coding, as `codingsOf` names it, can be decoded as it comes. */
export const isStreamable = (coding: string): boolean => Object.hasOwn(streams, coding);

/**
 * Creates a stream that decodes content beginning with `start`. The coding must be streamable; else it
 * throws.
 */
export function inflaterOf(coding: string, start: Buffer): Transform {
  const begin = isStreamable(coding) ? streams[coding] : undefined;
  if (!begin) throw new TypeError('a coding that is not decoded as it comes');
  return begin(start);
}

/**
 * Returns the bytes that a lenient receiver gets of a body that `inflateBody` calls unreadable. Each coding
 * is removed as far as possible, up to `maxBytes`; unknown ones are left. It never rejects.
 */
export async function inflateStart(
  bytes: Buffer,
  contentEncoding: string,
  maxBytes: number,
): Promise<Buffer> {
  let body = bytes;
  for (const coding of codingsOf(contentEncoding).slice(-codingsMax).reverse()) {
    const start = isStreamable(coding) ? await startOf(body, inflaterOf(coding, body), maxBytes) : body;
    if (start.length > 0) body = start;
  }
  return body.subarray(0, maxBytes);
}

/** Returns the output up to the end, the limit or an error, whichever comes first. */
async function startOf(bytes: Buffer, inflater: Transform, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  inflater.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxBytes) inflater.destroy();
  });
  inflater.on('error', () => resolve());
  inflater.on('close', () => resolve());
  inflater.end(bytes);
  await promise;
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/**
 * Returns the codings of a header field, in lower case and in the order of application, without `identity`.
 * `aws-chunked` comes last wherever it stands, since S3's documentation names it first.
 */
export function codingsOf(contentEncoding: string): string[] {
  const codings = contentEncoding
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (!codings.includes(awsChunkedCoding)) return codings;
  return [...codings.filter((it) => it !== awsChunkedCoding), awsChunkedCoding];
}

function inflateOnce(
  bytes: Buffer,
  decoder: Decoder,
  maxBytes: number,
): { body: Buffer } | { unreadable: string } {
  try {
    const { buffer, engine } = decoder(bytes, withInfo(maxBytes)) as Inflated;
    // Bytes behind the end would be forwarded unread.
    return engine.bytesWritten === bytes.length
      ? { body: buffer }
      : { unreadable: 'the compressed body is followed by other bytes' };
  } catch (error) {
    return {
      unreadable: isTooLarge(error)
        ? `the body decompresses to more than the limit of ${maxBytes} bytes`
        : 'the body is not what its content coding says',
    };
  }
}

/** Adds `info`, which makes the decoder return its engine; the types do not declare it. */
export function withInfo(maxOutputLength: number): Options {
  const options = { maxOutputLength: Math.max(1, maxOutputLength), info: true };
  return options;
}
