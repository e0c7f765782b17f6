/**
 * Tells whether a content type is that of gRPC over HTTP/2, and not of gRPC-Web. Servers differ in what they
 * take behind the name; here any of that counts.
 */
export const isGrpcType = (contentType: string): boolean => /^application\/grpc(?!-web)/i.test(contentType);

/**
 * Tells whether a type is gRPC, gRPC-Web or Connect, whose envelope around each message may say that it is
 * compressed.
 */
export const isEnvelopedType = (contentType: string): boolean =>
  /^application\/(?:grpc|connect\+)/i.test(contentType);

/** Tells whether the envelopes are written in base64. */
export const isEnvelopedText = (contentType: string): boolean =>
  /^application\/grpc-web-text/i.test(contentType);

/** Fields that say the coding of the messages in envelopes. */
export const messageCodingFields: readonly string[] = ['grpc-encoding', 'connect-content-encoding'];
