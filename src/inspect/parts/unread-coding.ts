import { isUtf8 } from 'node:buffer';
import { isEnvelopedText, isEnvelopedType, isGrpcType } from '../../wire/grpc/grpc-type.ts';
import { fromBase64 } from '../decode/forms/base64.ts';
import { multipartParts } from '../decode/multipart-parts.ts';
import { hasUnreadMessages, isReadCoding } from '../decode/packed/grpc-messages.ts';
import { hasUnreadCharset } from './declared-charset.ts';

export interface CodedContent {
  /** The bytes without their content coding. */
  readonly bytes: Buffer;
  readonly contentType: string;
  /** The codings of messages that the fields of the head declare. */
  readonly messageCodings: readonly string[];
  /** Tells whether messages come without envelopes, as those of gRPC over HTTP/2 do. */
  readonly isUnwrapped: boolean;
}

/**
 * Returns why content, a message or a part of it cannot be read, so that findings would pass unseen. Returns
 * undefined where all can be read.
 */
export function unreadIn(content: CodedContent): string | undefined {
  if (hasUnreadCoding(content))
    return 'its messages or parts are compressed in a way that the gateway does not know';
  return hasUnreadCharset(content.bytes, content.contentType)
    ? 'it is written in a character set that the gateway does not read'
    : undefined;
}

function hasUnreadCoding({ bytes, contentType, messageCodings, isUnwrapped }: CodedContent): boolean {
  if (/^multipart\//i.test(contentType)) return hasUnreadParts(bytes);
  if (!isEnvelopedType(contentType) || (isUnwrapped && isGrpcType(contentType))) return false;
  const decoded = decodedForm(bytes, contentType);
  if (decoded) return hasUnreadMessages(decoded, '');
  return hasUnreadMessages(bytes, messageCodings.join(''));
}

/**
 * Decodes content whose type tells that it is base64. Each frame, and any piece of one, may have padding of
 * its own.
 */
export const decodedForm = (bytes: Buffer, contentType: string): Buffer | undefined =>
  isEnvelopedText(contentType) ? fromBase64(bytes) : undefined;

const codingField = /^content-encoding[ \t]*:(.*)$/gim;
const plainCoding = /^(?:identity|none)?$/i;

/**
 * Tells whether content has parts that cannot be read. Parts that cannot be told apart may have any coding,
 * unless the whole is UTF-8.
 */
function hasUnreadParts(bytes: Buffer): boolean {
  const parts = multipartParts(bytes);
  if (parts.length === 0) return !isUtf8(bytes);
  return parts.some(({ head }) => {
    const fields = bytes.toString('latin1', head.start, head.end);
    const codings = [...fields.matchAll(codingField)].map(([, coding = '']) => coding.trim());
    return codings.some((it) => !plainCoding.test(it) && !isReadCoding(it));
  });
}
