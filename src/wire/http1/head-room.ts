/*
 * A body that is put together from pieces gets room before it. The gateway's own head can be written there,
 * and nothing is copied.
 */

/** Bytes of room, which suffice for nearly all heads. */
export const headRoomBytes = 2048;

const roomy = new WeakSet<Buffer>();

/** Returns a buffer with memory of its own and room before it. What stands in both is arbitrary. */
export function allocateRoomy(bytes: number): Buffer {
  const body = Buffer.allocUnsafeSlow(headRoomBytes + bytes).subarray(headRoomBytes);
  roomy.add(body);
  return body;
}

/**
 * Returns head (Latin-1) and body as one buffer, without a copy. It is valid until the next call for this
 * body. Returns undefined where the body has no room for the head.
 */
export function withHead(head: string, body: Buffer): Buffer | undefined {
  if (!roomy.has(body) || head.length > headRoomBytes) return undefined;
  const whole = Buffer.from(body.buffer, body.byteOffset - head.length, head.length + body.length);
  whole.write(head, 0, 'latin1');
  return whole;
}
