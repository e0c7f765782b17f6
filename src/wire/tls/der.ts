/*
 * The little of ASN.1 that certificates need, in DER (X.690). A value is made of its tag and of the bytes of the
 * values inside.
 */

/** Returns one value: a tag byte and a length before parts that are encoded already. */
export function wrap(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  let size = 0;
  for (const part of parts) size += part.length;
  return Buffer.concat([header(tag, size), ...parts]);
}

function header(tag: number, size: number): Buffer {
  if (size < 0x80) return Buffer.from([tag, size]);
  if (size < 0x100) return Buffer.from([tag, 0x81, size]);
  if (size < 0x1_0000) return Buffer.from([tag, 0x82, size >> 8, size & 0xff]);
  throw new RangeError('The ASN.1 value is longer than 65535 bytes.');
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => wrap(0x30, ...items);
export const set = (...items: readonly Uint8Array[]): Buffer => wrap(0x31, ...items);
export const utf8 = (text: string): Buffer => wrap(0x0c, Buffer.from(text));
export const isTrue = wrap(0x01, Buffer.of(0xff));
export const nothing = wrap(0x05);
export const derInteger = (bytes: Uint8Array): Buffer => wrap(0x02, bytes);
export const octets = (bytes: Uint8Array): Buffer => wrap(0x04, bytes);

/** Returns a BIT STRING; `unused` counts the last bits that say nothing. */
export const bits = (unused: number, bytes: Uint8Array): Buffer => wrap(0x03, Buffer.of(unused), bytes);

/** Returns an implicitly tagged `[number]` value of bytes, as in GeneralName. */
export const tagged = (number: number, bytes: Uint8Array): Buffer => wrap(0x80 | number, bytes);

/** Returns an explicitly tagged `[number]` value, which has other values inside. */
export const around = (number: number, ...items: readonly Uint8Array[]): Buffer =>
  wrap(0xa0 | number, ...items);

/** Returns an OBJECT IDENTIFIER. The first two numbers are one, and all are in base 128 (X.690, 8.19). */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return wrap(0x06, Buffer.from([first * 40 + second, ...others].flatMap(inBase128)));
}

function inBase128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) digits.unshift(0x80 | (rest & 0x7f));
  return digits;
}

/**
 * Returns a time: UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280, 4.1.2.5). It is in whole
 * seconds; a fraction is cut off.
 */
export function derTime(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replace(/\.\d+|\D/g, '');
  return text < '2050' ? wrap(0x17, Buffer.from(`${text.slice(2)}Z`)) : wrap(0x18, Buffer.from(`${text}Z`));
}

/**
 * Returns the values inside a constructed one, each with its own header, as slices of `der`. So what is taken
 * out of a certificate keeps its bytes. Throws RangeError for what is cut short or has a length of more than
 * four bytes.
 */
export function derChildrenOf(der: Buffer): Buffer[] {
  const outer = extentAt(der, 0);
  const children: Buffer[] = [];
  for (let at = outer.content; at < outer.end; ) {
    const { end } = extentAt(der, at);
    children.push(der.subarray(at, end));
    at = end;
  }
  return children;
}

/** Returns the bytes of a primitive value, without its header. */
export const contentOf = (der: Buffer): Buffer => der.subarray(extentAt(der, 0).content);

function extentAt(der: Buffer, at: number): { content: number; end: number } {
  const first = der.readUInt8(at + 1);
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  const content = at + 2 + lengthBytes;
  // An indefinite length (0x80) is not DER; readUIntBE refuses it, as it refuses what is beyond the end.
  const size = first < 0x80 ? first : der.readUIntBE(at + 2, lengthBytes);
  const end = content + size;
  if (lengthBytes > 4 || end > der.length) throw new RangeError('The ASN.1 value is cut short.');
  return { content, end };
}
