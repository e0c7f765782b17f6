/*
 * The content coding `aws-chunked` of Amazon S3. Each chunk has its size in hex in front, with a signature or
 * none. Trailers stand behind the last chunk. The S3 API reference describes it in "Signature calculations:
 * transferring payload in multiple chunks" and "… including trailing headers". It is read strictly: what S3
 * would pass over could carry something out that nobody looked at.
 */

export interface AwsChunks {
  /** The chunks of content, without the empty last one. */
  readonly chunks: readonly Buffer[];
  /** Trailers but for the one that signs them. Names are in lower case. */
  readonly trailers: readonly (readonly [name: string, value: string])[];
}

/**
 * Matches the line of a chunk: a size, and a signature or none. A signature is one by HMAC, or a longer one
 * of Version 4A, filled up with stars.
 */
const chunkLine = /^(0|[1-9a-fA-F][0-9a-fA-F]{0,7})(;chunk-signature=(?:[0-9a-f]{64}|[0-9a-f*]{144}))?$/;
/** Bytes within which a line must end. The longest chunk line is shorter. */
const lineBytesMax = 256;
const trailerLine = /^(x-amz-checksum-[a-z0-9]{1,16}):[\t ]*([A-Za-z0-9+/]{1,88}={0,2})$/i;
const trailerSignature = /^x-amz-trailer-signature:[\t ]*(?:[0-9a-f]{64}|[0-9a-f*]{144})$/i;
const trailersMax = 4;
/**
 * Smallest signed chunk that may have another one behind it; S3 demands it. In small chunks signatures, which
 * nobody can read, would have too much room.
 */
const signedChunkBytesMin = 8_192;
/**
 * Chunks that one body may have. Each takes its time and its place in memory, however little is in it: a
 * megabyte has room for 170,000.
 */
export const awsChunksMax = 16_384;
const lineEnd = '\r\n';

/**
 * Returns what such a body carries. Returns undefined unless the bytes are exactly one, with at most
 * `awsChunksMax` chunks.
 */
export function parseAwsChunked(bytes: Buffer): AwsChunks | undefined {
  const chunks: Buffer[] = [];
  let isLastSmall = false;
  for (let at = 0; ; ) {
    const line = lineAt(bytes, at);
    const [, size = '', signature] = chunkLine.exec(line ?? '') ?? [];
    if (line === undefined || size === '') return undefined;
    const start = at + line.length + lineEnd.length;
    const length = Number.parseInt(size, 16);
    if (length === 0) {
      const trailers = parseTrailers(bytes, start);
      return trailers && { chunks, trailers };
    }
    const end = start + length;
    if (chunks.length === awsChunksMax) return undefined;
    if (isLastSmall || bytes.toString('latin1', end, end + lineEnd.length) !== lineEnd) return undefined;
    isLastSmall = signature !== undefined && length < signedChunkBytesMin;
    chunks.push(bytes.subarray(start, end));
    at = end + lineEnd.length;
  }
}

/** Returns the trailers up to the empty line, which must end the bytes; else undefined. */
function parseTrailers(bytes: Buffer, start: number): AwsChunks['trailers'] | undefined {
  const trailers: (readonly [string, string])[] = [];
  for (let at = start, lines = 0; lines <= trailersMax; lines++) {
    const line = lineAt(bytes, at);
    if (line === undefined) return undefined;
    at += line.length + lineEnd.length;
    if (line === '') return at === bytes.length ? trailers : undefined;
    const [, name, value] = trailerLine.exec(line) ?? [];
    if (name !== undefined && value !== undefined) trailers.push([name.toLowerCase(), value]);
    else if (!trailerSignature.test(line)) return undefined;
  }
  return undefined;
}

function lineAt(bytes: Buffer, start: number): string | undefined {
  const text = bytes.toString('latin1', start, start + lineBytesMax);
  const end = text.indexOf(lineEnd);
  return end < 0 ? undefined : text.slice(0, end);
}

/** Returns one chunk as it is sent. An empty one is the last, and trailers follow it. */
export const awsChunk = (content: Buffer, signature: string): readonly Buffer[] => [
  Buffer.from(`${content.length.toString(16)};chunk-signature=${signature}${lineEnd}`),
  ...(content.length > 0 ? [content, Buffer.from(lineEnd)] : []),
];

/** Tells whether `x-amz-content-sha256` names this coding; Content-Encoding need not name it then. */
export const saysAwsChunked = (contentSha256: string): boolean => /^STREAMING-/i.test(contentSha256.trim());
