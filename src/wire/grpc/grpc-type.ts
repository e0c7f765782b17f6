/**
 * Tells whether a content type is that of gRPC over HTTP/2, and not of gRPC-Web. Servers differ in what they
 * take behind the name; here any of that counts.
 */
export const isGrpcType = (contentType: string): boolean =>
  // The letter behind `application/` excludes nearly all other types.
  (contentType.charCodeAt(12) | 0x20) === 0x67 && /^application\/grpc(?!-web)/i.test(contentType);

/**
 * Tells whether a type may have envelopes, by the letter behind `application/`, which excludes nearly all
 * others.
 */
function mayBeEnveloped(contentType: string): boolean {
  const letter = contentType.charCodeAt(12) | 0x20;
  return letter === 0x67 || letter === 0x63;
}

/**
 * Tells whether a type is gRPC, gRPC-Web or Connect, whose envelope around each message may say that it is
 * compressed.
 */
export const isEnvelopedType = (contentType: string): boolean =>
  mayBeEnveloped(contentType) && /^application\/(?:grpc|connect\+)/i.test(contentType);

/** Tells whether the envelopes are written in base64. */
export const isEnvelopedText = (contentType: string): boolean =>
  mayBeEnveloped(contentType) && /^application\/grpc-web-text/i.test(contentType);

/** Fields that say the coding of the messages in envelopes. */
export const messageCodingFields: readonly string[] = ['grpc-encoding', 'connect-content-encoding'];
