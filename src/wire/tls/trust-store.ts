import { X509Certificate } from 'node:crypto';
import { around, derInteger, octets, oid, sequence, set } from './der.ts';

const dataType = '1.2.840.113549.1.7.1';
const certBagType = '1.2.840.113549.1.12.10.1.3';
const x509Type = '1.2.840.113549.1.9.22.1';
/** Attribute without which Java does not trust a certificate. */
const trustedKeyUsage = '2.16.840.1.113894.746875.1.1';
const anyUsage = '2.5.29.37.0';

/** Makes a PKCS#12 trust store (RFC 7292) of PEM certificates, without a password, for Java. */
export function toTrustStore(pem: string): Buffer {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const bags = blocks.map((block) => toBag(new X509Certificate(block).raw));
  return sequence(derInteger(Buffer.of(3)), toContent(sequence(toContent(sequence(...bags)))));
}

const toContent = (content: Buffer): Buffer => sequence(oid(dataType), around(0, octets(content)));

function toBag(certificate: Buffer): Buffer {
  const entry = sequence(oid(x509Type), around(0, octets(certificate)));
  const attributes = set(sequence(oid(trustedKeyUsage), set(oid(anyUsage))));
  return sequence(oid(certBagType), around(0, entry), attributes);
}
