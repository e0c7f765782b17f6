/*
 * How bytes cross between threads. Long ones lie in shared memory, which both sides see, so that each text is copied once at most and is
 * handed on for nothing. Nobody writes into them afterwards. Short ones are cloned, each by itself: a clone of a view takes all of its buffer along.
 */

/** To share memory costs more than to copy so little. */
const sharedBytesMin = 4_096;

/** The same bytes where other threads see them. */
export function toShared(bytes: Uint8Array): Uint8Array {
  if (isShared(bytes)) return bytes;
  if (bytes.length < sharedBytesMin) return Uint8Array.from(bytes);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

/** And nearly all of what it shares is its own. */
const isShared = ({ buffer, length }: Uint8Array): boolean =>
  buffer instanceof SharedArrayBuffer && length * 2 >= buffer.byteLength;

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A plain value ready to be sent: bytes in it are shared or cloned. */
export const packed = <T>(value: T): T => mapBytes(value, toShared) as T;

/** The same on the other side, where bytes are buffers again. */
export const unpacked = <T>(value: T): T => mapBytes(value, asBuffer) as T;

/** Bytes stand in fields, in lists and in maps; objects of other kinds hold none. */
function mapBytes(value: unknown, map: (bytes: Uint8Array) => Uint8Array): unknown {
  if (value instanceof Uint8Array) return map(value);
  if (Array.isArray(value)) return value.map((it) => mapBytes(it, map));
  if (value instanceof Map) return new Map([...value].map(([key, it]) => [key, mapBytes(it, map)]));
  if (typeof value !== 'object' || value === null || value instanceof Set) return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, mapBytes(it, map)]));
}
