import { isCompressedAt, isFlag, lengthAt, prefixBytes } from '../http1/grpc-prefix.ts';
import type { Span } from './span-map.ts';

const messagesMax = 1000;

/** Whether the first byte may be that of a message. */
export const beginsLikeMessage = (bytes: Buffer): boolean => isFlag(bytes[0] ?? 0);

/**
 * The messages of a gRPC body, each without its prefix. None where the bytes are not such messages to their end.
 */
export function grpcMessages(bytes: Buffer): Span[] {
  const messages: Span[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (messages.length === messagesMax || !isFlag(bytes[at] as number) || at + prefixBytes > bytes.length)
      return [];
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

/** Whether a body has messages that say that they are compressed, by a coding that is not read. */
export function hasUnreadMessages(bytes: Buffer, coding: string): boolean {
  if (isReadCoding(coding)) return false;
  for (let at = 0; at + prefixBytes <= bytes.length; ) {
    const length = lengthAt(bytes, at);
    if (length > 0 && isCompressedAt(bytes, at)) return true;
    at += prefixBytes + length;
  }
  return false;
}
