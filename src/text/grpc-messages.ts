import type { Span } from './span-map.ts';

const prefixBytes = 5;
const messagesMax = 1000;

/** Whether the first byte may be that of a message. */
export const beginsLikeMessage = (bytes: Buffer): boolean => (bytes[0] ?? 0) <= 1;

/**
 * The messages of a gRPC body: each behind a byte that says whether it is compressed, and its length in four bytes ("gRPC over HTTP2",
 * Length-Prefixed-Message). None where the bytes are not such messages to their end.
 */
export function grpcMessages(bytes: Buffer): Span[] {
  const messages: Span[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (messages.length === messagesMax || (bytes[at] as number) > 1 || at + prefixBytes > bytes.length)
      return [];
    const start = at + prefixBytes;
    const end = start + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) return [];
    messages.push({ start, end });
    at = end;
  }
  return messages;
}

/** Codings that are told by the first bytes of what they code: messages in them are read wherever they stand. */
const readCodings: ReadonlySet<string> = new Set(['gzip', 'deflate', 'zstd']);
const compressedFlag = 1;

/** Whether a body has messages that say that they are compressed, by a coding that is not read. */
export function hasUnreadMessages(bytes: Buffer, coding: string): boolean {
  if (readCodings.has(coding.trim().toLowerCase())) return false;
  for (let at = 0; at + prefixBytes <= bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    if (length > 0 && ((bytes[at] as number) & compressedFlag) !== 0) return true;
    at += prefixBytes + length;
  }
  return false;
}
