import { inflateRawSync } from 'node:zlib';
import { parseAwsChunked } from '../../../wire/http1/aws-chunked.ts';
import { onePass } from '../budget.ts';
import { gzipHeaderLength } from './compression.ts';
import { awsChunkedCoding, codingsOf, inflateBody } from './inflate.ts';
import { textMin, textPieces } from './readable.ts';

/*
 * Content codings have room beside the content: names and comments in gzip, frames to be skipped in zstd, metadata in brotli. Receivers
 * pass over it, and it goes out with the content. In gzip and zstd it is found by their structure. Brotli can only be walked through by
 * a decoder; but its metadata begins at a whole byte (RFC 7932, 9.2), so texts in it stand among the compressed bytes as they are.
 */

/** A file's name is shorter. */
export const fieldBytesMax = 64;
/** Every member begins with six bytes that mean nothing to most receivers. */
const gzipMembersMax = 16;
const gzipFixedBytes = 10;
const gzipTrailerBytes = 8;
const gzipMagic = Buffer.from([0x1f, 0x8b, 0x08]);
const skippableFrame = 0x184d2a50;
const lineEnd = Buffer.from('\n');

/**
 * What stands beside the content of a body, in all its content codings, as text to be read. Undefined where that is more than 64 bytes of
 * fields, or where nobody can tell. The body is one that `inflateBody` can read.
 */
export function besideContent(body: Buffer, contentEncoding: string, maxBytes: number): Buffer | undefined {
  const [outermost, ...inner] = codingsOf(contentEncoding).reverse();
  const found: Buffer[] = [];
  let layer = body;
  for (let coding = outermost; coding !== undefined; coding = inner.shift()) {
    const fields = fieldsOf.get(coding)?.(layer, maxBytes) ?? [];
    if (fields === 'too many' || byteCount(fields) > fieldBytesMax) return undefined;
    found.push(...fields.flatMap((it) => [it, lineEnd]));
    // Chunks have the content as it is, and nothing beside it but what was taken out of them.
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

/** Extra fields, names and comments of all members (RFC 1952, 2.3.1). */
function gzipFields(bytes: Buffer, maxBytes: number): readonly Buffer[] | 'too many' {
  const fields: Buffer[] = [];
  let at = 0;
  for (let member = 0; at < bytes.length; member += 1) {
    if (member >= gzipMembersMax) return 'too many';
    const start = at + gzipHeaderLength(bytes.subarray(at));
    if (start > at + gzipFixedBytes) fields.push(bytes.subarray(at + gzipFixedBytes, start));
    // Nearly always there is one member, whose end need not be looked for.
    if (!bytes.includes(gzipMagic, start)) break;
    at = start + deflatedLength(bytes.subarray(start), maxBytes) + gzipTrailerBytes;
  }
  return fields;
}

/** How many bytes the deflated data at the start takes. */
function deflatedLength(bytes: Buffer, maxOutputLength: number): number {
  const options = { maxOutputLength, info: true };
  const { engine } = inflateRawSync(bytes, options) as unknown as { engine: { bytesWritten: number } };
  return engine.bytesWritten;
}

/** Frames to be skipped (RFC 8878, 3.1.2). */
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

/** RFC 8878, 3.1.1: a header, blocks that tell their length, and perhaps a checksum. */
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
