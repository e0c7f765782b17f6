/*
 * The prefix of a gRPC message: a flag, and the length in four bytes ("gRPC over HTTP2",
 * Length-Prefixed-Message). Callers make sure that the bytes of a prefix are there.
 */

export const prefixBytes = 5;

const compressedFlag = 1;

/** Tells whether a byte may be the first one of a prefix. */
export const isFlag = (byte: number): boolean => byte <= compressedFlag;

/** Tells whether the message whose prefix stands at `at` is compressed. */
export const isCompressedAt = (bytes: Buffer, at: number): boolean =>
  ((bytes[at] as number) & compressedFlag) !== 0;

export const lengthAt = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at + 1);

/** Returns a message that is not compressed, behind its prefix. */
export function frameOf(payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + payload.length);
  frame[0] = 0;
  frame.writeUInt32BE(payload.length, 1);
  payload.copy(frame, prefixBytes);
  return frame;
}
