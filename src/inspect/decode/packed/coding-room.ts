import { inflateRawSync } from 'node:zlib';
import { parseAwsChunked } from '../../../wire/http1/aws-chunked.ts';
import { onePass } from '../budget.ts';
import { gzipHeaderLength } from './compression.ts';
import { awsChunkedCoding, codingsOf, type Inflated, inflateBody, withInfo } from './inflate.ts';
import { textMin, textPieces } from './readable.ts';

/*
 * Finds bytes beside the content of a content coding: names and comments in gzip, skippable frames in zstd,
 * metadata in brotli. Receivers ignore them, and they are forwarded. In gzip and zstd the structure shows
 * them. Only a decoder could walk through Brotli, but its metadata begins at a whole byte (RFC 7932, 9.2). So
 * texts in it stand unencoded among the compressed bytes.
 */

/** Bound on the bytes of all such fields; a file name is shorter. */
export const fieldBytesMax = 64;
/** Bound on the gzip members, each of which begins with six bytes that most receivers ignore. */
const gzipMembersMax = 16;
const gzipFixedBytes = 10;
const gzipTrailerBytes = 8;
const gzipMagic = Buffer.from([0x1f, 0x8b, 0x08]);
const skippableFrame = 0x184d2a50;
const lineEnd = Buffer.from('\n');

/**
 * Returns the bytes beside the content in all its codings, as text to search. Returns undefined for more than
 * 64 bytes of fields, and where they cannot be found. The body must be readable by `inflateBody`.
 */
export function besideContent(body: Buffer, contentEncoding: string, maxBytes: number): Buffer | undefined {
  const [outermost, ...inner] = codingsOf(contentEncoding).reverse();
  const found: Buffer[] = [];
  let layer = body;
  for (let coding = outermost; coding !== undefined; coding = inner.shift()) {
    const fields = fieldsOf.get(coding)?.(layer, maxBytes) ?? [];
    if (fields === 'too many' || byteCount(fields) > fieldBytesMax) return undefined;
    found.push(...fields.flatMap((it) => [it, lineEnd]));
    // Chunks contain the content unencoded, and nothing beside it but the trailers found above.
    if (coding !== awsChunkedCoding) found.push(textPieces(layer, textMin, onePass()));
    const next = inner.length > 0 ? inflateBody(layer, coding, maxBytes) : undefined;
    if (next && 'unreadable' in next) return undefined;
    layer = next?.body ?? layer;
  }
  return Buffer.concat(found);
}

type FieldsOf = (bytes: Buffer, maxBytes: number) => readonly Buffer[] | 'too many';

const fieldsOf: ReadonlyMap<string, FieldsOf> = new Map([
  ['gzip', gzipFields],
  ['x-gzip', gzipFields],
  ['zstd', zstdFields],
  [awsChunkedCoding, trailerValues],
]);

function trailerValues(bytes: Buffer): readonly Buffer[] {
  return parseAwsChunked(bytes)?.trailers.map(([, value]) => Buffer.from(value)) ?? [];
}

const byteCount = (fields: readonly Buffer[]): number => fields.reduce((sum, it) => sum + it.length, 0);

/**
 * Returns extra fields, names and comments of all members (RFC 1952, 2.3.1), or that there are too many
 * members.
 */
function gzipFields(bytes: Buffer, maxBytes: number): readonly Buffer[] | 'too many' {
  const fields: Buffer[] = [];
  let at = 0;
  for (let member = 0; at < bytes.length; member += 1) {
    if (member >= gzipMembersMax) return 'too many';
    const start = at + gzipHeaderLength(bytes.subarray(at));
    if (start > at + gzipFixedBytes) fields.push(bytes.subarray(at + gzipFixedBytes, start));
    // Nearly always there is one member, so its end need not be found.
    if (!bytes.includes(gzipMagic, start)) break;
    at = start + deflatedLength(bytes.subarray(start), maxBytes) + gzipTrailerBytes;
  }
  return fields;
}

/** Returns how many bytes the deflated data at the start takes. */
function deflatedLength(bytes: Buffer, maxOutputLength: number): number {
  return (inflateRawSync(bytes, withInfo(maxOutputLength)) as unknown as Inflated).engine.bytesWritten;
}

/** Returns the skippable frames (RFC 8878, 3.1.2). */
function zstdFields(bytes: Buffer): readonly Buffer[] {
  const fields: Buffer[] = [];
  let at = 0;
  while (at + 8 <= bytes.length) {
    if ((bytes.readUInt32LE(at) & 0xfffffff0) !== skippableFrame) {
      at = zstdFrameEnd(bytes, at);
      continue;
    }
    const end = at + 8 + bytes.readUInt32LE(at + 4);
    fields.push(bytes.subarray(at, end));
    at = end;
  }
  return fields;
}

/** Returns the end of a frame (RFC 8878, 3.1.1): a header, blocks with lengths, and perhaps a checksum. */
function zstdFrameEnd(bytes: Buffer, start: number): number {
  const descriptor = bytes[start + 4] ?? 0;
  const isSingleSegment = (descriptor >> 5) & 1;
  const sizeFlag = descriptor >> 6;
  const contentSizeBytes = sizeFlag === 0 ? isSingleSegment : 1 << sizeFlag;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  let at = start + 5 + (1 - isSingleSegment) + dictionaryBytes + contentSizeBytes;
  while (at + 3 <= bytes.length) {
    const header = bytes.readUIntLE(at, 3);
    const isRepeatedByte = ((header >> 1) & 3) === 1;
    at += 3 + (isRepeatedByte ? 1 : header >> 3);
    if (header & 1) break;
  }
  return at + (descriptor & 4 ? 4 : 0);
}
