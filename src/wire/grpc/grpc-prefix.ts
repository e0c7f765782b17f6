/*
 * What stands before each message of gRPC: a flag, and the length in four bytes ("gRPC over HTTP2", Length-Prefixed-Message). Whoever asks
 * has seen that so many bytes are there.
 */

export const prefixBytes = 5;

const compressedFlag = 1;

/** Whether a byte may be the first one of a prefix. */
export const isFlag = (byte: number): boolean => byte <= compressedFlag;

/** Of the message whose prefix stands at `at`. */
export const isCompressedAt = (bytes: Buffer, at: number): boolean =>
  ((bytes[at] as number) & compressedFlag) !== 0;

export const lengthAt = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at + 1);
