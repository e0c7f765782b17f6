import asn1 from 'node-forge/lib/asn1.js';

/*
 * The little of ASN.1 that certificates need. Small values are built as node-forge nodes and encoded. What
 * all certificates have in common is encoded once and joined as bytes by `wrap`.
 */

const { Class, Type } = asn1;

export type Asn1 = asn1.Asn1;

/**
 * Tag bytes of the values that `wrap` joins (X.690, 8.1.2). All are universal, and the sequence is
 * constructed.
 */
export const sequenceTag = 0x30;
export const bitStringTag = 0x03;
export const octetStringTag = 0x04;

const primitive = (type: asn1.Type, bytes: string): Asn1 => asn1.create(Class.UNIVERSAL, type, false, bytes);

export const sequence = (...items: Asn1[]): Asn1 => asn1.create(Class.UNIVERSAL, Type.SEQUENCE, true, items);
export const set = (...items: Asn1[]): Asn1 => asn1.create(Class.UNIVERSAL, Type.SET, true, items);
export const oid = (dotted: string): Asn1 => primitive(Type.OID, asn1.oidToDer(dotted).getBytes());
export const utf8 = (text: string): Asn1 => primitive(Type.UTF8, Buffer.from(text).toString('latin1'));
export const boolean = (value: boolean): Asn1 => primitive(Type.BOOLEAN, value ? '\xff' : '\0');
export const nothing = (): Asn1 => primitive(Type.NULL, '');
export const derInteger = (bytes: Buffer): Asn1 => primitive(Type.INTEGER, bytes.toString('latin1'));
export const octets = (bytes: Buffer): Asn1 => primitive(Type.OCTETSTRING, bytes.toString('latin1'));

/** Returns a BIT STRING of named bits, as in a key usage; `unused` counts the last bits that say nothing. */
export const bits = (unused: number, ...bytes: number[]): Asn1 =>
  primitive(Type.BITSTRING, String.fromCharCode(unused, ...bytes));

/** Returns an implicitly tagged `[number]` value, as in GeneralName. */
export const tagged = (number: number, bytes: Buffer): Asn1 =>
  asn1.create(Class.CONTEXT_SPECIFIC, number, false, bytes.toString('latin1'));

/**
 * Returns a time: UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280, 4.1.2.5). It is in whole
 * seconds; a fraction is cut off.
 */
export function derTime(atMs: number): Asn1 {
  const date = new Date(atMs);
  return date.getUTCFullYear() < 2050
    ? primitive(Type.UTCTIME, asn1.dateToUtcTime(date))
    : primitive(Type.GENERALIZEDTIME, asn1.dateToGeneralizedTime(date));
}

export const encode = (node: Asn1): Buffer => Buffer.from(asn1.toDer(node).getBytes(), 'latin1');

/** Returns one value: a tag byte and a length before parts that are encoded already. */
export function wrap(tag: number, ...parts: readonly Buffer[]): Buffer {
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
