import { isUtf8 } from 'node:buffer';
import { textFlags } from '../../kernel/outline.ts';
import type { DecodeBudget } from '../budget.ts';
import { beginsLikeDelimiter, multipartParts } from '../multipart-parts.ts';
import type { Span } from '../span-map.ts';
import { isBinary } from './binary.ts';
import { isBinaryFile } from './binary-format.ts';
import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { beginsLikeCompressed, compressionOf, inflateUnmarked } from './compression.ts';
import { isPush } from './git-pack.ts';
import { beginsLikeMessage, grpcMessages } from './grpc-messages.ts';
import { beginsLikeOpaque, opaqueKindOf } from './opaque.ts';
import { textPieces } from './readable.ts';
import { tarEntries } from './tar.ts';

/** The least number of bytes of a piece of text in a file. Pieces are read where they stand. */
const pieceLengthMin = 6;
/**
 * Bounds on the share of text. Packed text contains some by accident, and a file with more than a little is
 * searched by its text.
 */
const packedShareMax = 1 / 2;
const binaryShareMax = 1 / 4;
/** The least number of bytes of a binary file. Shorter ones prove nothing. */
const binaryBytesMin = 32;

/** Finds files that nothing declares: the whole body, or parts of multipart and gRPC bodies. */
export const files: BlockDecoder = {
  name: 'file',
  mayHold: ({ bytes, outline }) => (outline.flags & textFlags.nonAscii) !== 0 || beginsLikeFile(bytes),
  *find({ bytes, outline }: EncodedText, budget: DecodeBudget): Iterable<Block> {
    // The objects of a pack are read one by one.
    const mayBeBinary = (outline.flags & textFlags.nonAscii) !== 0 && !isPush(bytes);
    const parts = partsOf(bytes);
    for (const part of parts.length > 0 ? parts : [{ start: 0, end: bytes.length }]) {
      const file = bytes.subarray(part.start, part.end);
      if (isFile(file)) yield { ...part, bytes: file, isLiteral: true };
      else if (mayBeBinary) yield* unmarked(part, file, budget);
    }
  },
};

/** Tells by a byte or two whether a text may begin like a file; most do not. */
const beginsLikeFile = (bytes: Buffer): boolean =>
  beginsLikeOpaque(bytes) ||
  beginsLikeCompressed(bytes) ||
  beginsLikeDelimiter(bytes) ||
  beginsLikeMessage(bytes);

function partsOf(bytes: Buffer): readonly Span[] {
  const messages = grpcMessages(bytes);
  if (messages.length > 0) return messages;
  const entries = tarEntries(bytes);
  if (entries.length > 0) return entries;
  const parts = multipartParts(bytes);
  return parts.length > 0 ? parts.map(({ content }) => content) : sizedParts(bytes);
}

const sizedPartsMax = 16;
const sizeBytes = 4;

/** Returns parts with their lengths before them, as crates are published; none where the bytes are no such parts. */
function sizedParts(bytes: Buffer): readonly Span[] {
  const parts: Span[] = [];
  let at = 0;
  while (at + sizeBytes <= bytes.length && parts.length < sizedPartsMax) {
    const start = at + sizeBytes;
    at = start + bytes.readUInt32LE(at);
    if (at <= bytes.length) parts.push({ start, end: at });
  }
  return at === bytes.length ? parts : [];
}

const isFile = (bytes: Buffer): boolean =>
  compressionOf(bytes) !== undefined || opaqueKindOf(bytes) !== undefined;

/** Yields a file of unknown format: its text, if it is packed; itself, if it is binary. */
function* unmarked(part: Span, bytes: Buffer, budget: DecodeBudget): Iterable<Block> {
  if (isUtf8(bytes)) return;
  // The text of UTF-16 and UTF-32 stands between zeros.
  const others = bytes.includes(0) ? Buffer.from(bytes.filter((byte) => byte !== 0)) : bytes;
  budget.work(bytes.length);
  const share = textPieces(others, pieceLengthMin, budget).length / (others.length + 1);
  const packed = share < packedShareMax ? inflateUnmarked(bytes, budget) : undefined;
  if (packed) yield { ...part, bytes: packed.text };
  else if (share < binaryShareMax && others.length >= binaryBytesMin && isBinary(others))
    yield { ...part, bytes, isLiteral: true, opaque: 'binary' };
  else if (isBinaryFile(bytes)) yield { ...part, bytes, isLiteral: true };
}
