/**
 * Whether a content type is that of gRPC over HTTP/2, and not of gRPC-Web, which any version carries. Servers differ in what they take
 * behind the name: here it is whatever one of them may take.
 */
export const isGrpcType = (contentType: string): boolean =>
  // Nearly all others are told by the letter behind `application/`.
  (contentType.charCodeAt(12) | 0x20) === 0x67 && /^application\/grpc(?!-web)/i.test(contentType);
