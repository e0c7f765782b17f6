import { isCompressedAt, lengthAt, prefixBytes } from '../../../wire/grpc/grpc-prefix.ts';
import type { Span } from '../span-map.ts';
import { compressionOf } from './compression.ts';

const messagesMax = 100_000;
/**
 * The flags of messages in gRPC, of Connect's last message and of gRPC-Web trailers, each compressed or not.
 */
const flags: ReadonlySet<number> = new Set([0, 1, 2, 3, 0x80, 0x81]);

/** Tells whether the first byte may begin a message. */
export const beginsLikeMessage = (bytes: Buffer): boolean => flags.has(bytes[0] ?? 0);

/**
 * Returns the messages of a gRPC, gRPC-Web or Connect body, each without its prefix. Returns none where the
 * bytes are not such messages to their end, or there are more than 100,000.
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

/** Codings that first bytes show, so that messages in them are read anywhere. */
const readCodings: ReadonlySet<string> = new Set(['gzip', 'deflate', 'zstd']);

/** Tells whether content in a coding is read when only its own bytes show the coding. */
export const isReadCoding = (coding: string): boolean => readCodings.has(coding.trim().toLowerCase());

/**
 * Tells whether a message is declared compressed but not read. That is so where its coding is not supported,
 * or its bytes do not begin like it. It is also so where the messages of the body cannot be separated.
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
