import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  around,
  bits,
  contentOf,
  derChildrenOf,
  derInteger,
  derTime,
  isTrue,
  nothing,
  octets,
  oid,
  sequence,
  set,
  utf8,
} from './der.ts';

/** Fields of our certificates as DER, in the order of RFC 5280, 4.1. */
interface CertificateFields {
  /** Subject of the issuer, byte for byte: chains are built by comparing subjects. */
  readonly issuer: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly subject: Buffer;
  /** Public key, as SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly extensions: readonly Buffer[];
}

export interface Signer {
  readonly key: KeyObject;
  /** AlgorithmIdentifier of the signature, as DER. */
  readonly algorithm: Buffer;
}

export const dayMs = 86_400_000;

const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const rsaWithSha256 = sequence(oid('1.2.840.113549.1.1.11'), nothing);
const version3 = around(0, derInteger(Buffer.of(2)));

/**
 * Returns a signer, which signs with SHA-256 whatever the key. Keys are EC or RSA, which browsers and TLS
 * libraries all accept.
 */
export function createSigner(key: KeyObject): Signer {
  return { key, algorithm: key.asymmetricKeyType === 'rsa' ? rsaWithSha256 : ecdsaWithSha256 };
}

/** Returns a signed version 3 certificate, as DER, with a random serial. */
export function signCertificate(fields: CertificateFields, signer: Signer): Buffer {
  const body = sequence(
    version3,
    derInteger(newSerial()),
    signer.algorithm,
    fields.issuer,
    sequence(derTime(fields.notBeforeMs), derTime(fields.notAfterMs)),
    fields.subject,
    fields.publicKey,
    around(3, sequence(...fields.extensions)),
  );
  return sequence(body, signer.algorithm, bits(0, sign('sha256', body, signer.key)));
}

/**
 * Returns a serial of 16 random bytes. It is positive and of full length because the first two bits are 01
 * (RFC 5280, 4.1.2.2).
 */
function newSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

/** Returns a Name with one part for each attribute; an empty one for none. */
export const distinguishedName = (attributes: readonly (readonly [type: string, value: string])[]): Buffer =>
  sequence(...attributes.map(([type, value]) => set(sequence(oid(type), utf8(value)))));

export const commonNameOid = '2.5.4.3';
export const organizationOid = '2.5.4.10';

/** Returns an extension. Where `critical` is false, which is the default, it is left out (X.690, 11.5). */
export const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
  sequence(oid(id), ...(critical ? [isTrue] : []), octets(value));

export const subjectKeyIdOid = '2.5.29.14';

export const subjectKeyId = (keyId: Buffer): Buffer => extension(subjectKeyIdOid, false, octets(keyId));

/**
 * Returns the name of a public key: the leftmost 160 bits of its SHA-256 (RFC 7093, method 1). SHA-1 is not
 * needed for it any more.
 */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const [, subjectPublicKey] = derChildrenOf(publicKey.export({ type: 'spki', format: 'der' }));
  if (!subjectPublicKey) throw new TypeError('The public key has no bits.');
  // The header of the BIT STRING and its count of unused bits are left out.
  return createHash('sha256').update(contentOf(subjectPublicKey).subarray(1)).digest().subarray(0, 20);
}

export function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
