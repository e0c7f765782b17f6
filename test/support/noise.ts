import { createCipheriv } from 'node:crypto';

/** Bytes of no format, the same at every run. Each call of what it returns answers other ones. */
export function createNoise(seed = 7): (size: number) => Buffer {
  const stream = createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16));
  return (size) => stream.update(Buffer.alloc(size));
}
