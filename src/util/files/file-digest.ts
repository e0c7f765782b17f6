import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

const pieceBytes = 1024 * 1024;

/** Returns SHA-256 of a file in hex. It is read in pieces: Node reads no file of more than 2 GiB at once. */
export function fileDigest(file: string): string {
  const digest = createHash('sha256');
  const piece = Buffer.allocUnsafe(pieceBytes);
  const descriptor = openSync(file, 'r');
  try {
    for (let read = pieceBytes; read > 0; ) {
      read = readSync(descriptor, piece);
      digest.update(piece.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
  return digest.digest('hex');
}
