/*
 * A body that is put together from pieces gets room before it. The gateway's own head can be written there,
 * and nothing is copied.
 */

/** For nearly all heads. */
export const headRoomBytes = 2048;

const roomy = new WeakSet<Buffer>();

/** Returns a buffer of its own with room before it; what stands in both is arbitrary. */
export function allocateRoomy(bytes: number): Buffer {
  const body = Buffer.allocUnsafeSlow(headRoomBytes + bytes).subarray(headRoomBytes);
  roomy.add(body);
  return body;
}

/**
 * Returns head (Latin-1) and body in one without a copy, valid until the next call for the body; undefined
 * where it has no room.
 */
export function withHead(head: string, body: Buffer): Buffer | undefined {
  if (!roomy.has(body) || head.length > headRoomBytes) return undefined;
  const whole = Buffer.from(body.buffer, body.byteOffset - head.length, head.length + body.length);
  whole.write(head, 0, 'latin1');
  return whole;
}
