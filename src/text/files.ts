import type { Block, BlockDecoder, EncodedText } from './block-decoder.ts';
import { compressionOf } from './compression.ts';
import { multipartParts } from './multipart-parts.ts';
import { opaqueKindOf } from './opaque.ts';

/** Files that are not text though nobody said so: the whole, and the parts of a multipart body. */
export const files: BlockDecoder = {
  name: 'file',
  *find({ bytes }: EncodedText): Iterable<Block> {
    if (isFile(bytes)) yield { start: 0, end: bytes.length, bytes, isLiteral: true };
    for (const { content } of multipartParts(bytes)) {
      const file = bytes.subarray(content.start, content.end);
      if (isFile(file)) yield { ...content, bytes: file, isLiteral: true };
    }
  },
};

const isFile = (bytes: Buffer): boolean =>
  compressionOf(bytes) !== undefined || opaqueKindOf(bytes) !== undefined;
