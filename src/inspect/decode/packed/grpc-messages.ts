import { isCompressedAt, lengthAt, prefixBytes } from '../../../wire/grpc/grpc-prefix.ts';
import type { Span } from '../span-map.ts';
import { compressionOf } from './compression.ts';

const messagesMax = 100_000;
/** Of gRPC, the last one of Connect, and the trailers of gRPC-Web; each compressed or not. */
const flags: ReadonlySet<number> = new Set([0, 1, 2, 3, 0x80, 0x81]);

/** Whether the first byte may be that of a message. */
export const beginsLikeMessage = (bytes: Buffer): boolean => flags.has(bytes[0] ?? 0);

/**
 * The messages of a body of gRPC, gRPC-Web or Connect, each without its prefix. None where the bytes are not such messages to their end, or
 * there are more than 100,000.
 */
export function grpcMessages(bytes: Buffer): Span[] {
  const messages: Span[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (messages.length === messagesMax || at + prefixBytes > bytes.length) return [];
    if (!flags.has(bytes[at] as number)) return [];
    const start = at + prefixBytes;
    const end = start + lengthAt(bytes, at);
    if (end > bytes.length) return [];
    messages.push({ start, end });
    at = end;
  }
  return messages;
}

/** Codings that are told by the first bytes of what they code: messages in them are read wherever they stand. */
const readCodings: ReadonlySet<string> = new Set(['gzip', 'deflate', 'zstd']);

/** Whether content in a coding is read where nothing beside its own bytes says that it is coded. */
export const isReadCoding = (coding: string): boolean => readCodings.has(coding.trim().toLowerCase());

/**
 * Whether messages of a body say that they are compressed, and are not read: by a coding that is not, in bytes that do not begin as it says,
 * or among others that are not taken apart.
 */
export function hasUnreadMessages(bytes: Buffer, coding: string): boolean {
  let isCompressed = false;
  for (let at = 0; at + prefixBytes <= bytes.length; ) {
    const start = at + prefixBytes;
    const end = start + lengthAt(bytes, at);
    if (end > start && isCompressedAt(bytes, at)) {
      if (!isReadCoding(coding) || compressionOf(bytes.subarray(start, end)) === undefined) return true;
      isCompressed = true;
    }
    at = end;
  }
  return isCompressed && grpcMessages(bytes).length === 0;
}
