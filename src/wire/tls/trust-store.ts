import { X509Certificate } from 'node:crypto';
import { encode as der, octetStringTag, octets, oid, sequence, sequenceTag, set, wrap } from './der.ts';

const dataType = '1.2.840.113549.1.7.1';
const certBagType = '1.2.840.113549.1.12.10.1.3';
const x509Type = '1.2.840.113549.1.9.22.1';
/** Attribute without which Java does not trust a certificate. */
const trustedKeyUsage = '2.16.840.1.113894.746875.1.1';
const anyUsage = '2.5.29.37.0';
const explicitTag = 0xa0;
const version3 = Buffer.from([0x02, 0x01, 0x03]);

/** Makes a PKCS#12 trust store (RFC 7292) of PEM certificates, without a password, for Java. */
export function toTrustStore(pem: string): Buffer {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const bags = blocks.map((block) => toBag(new X509Certificate(block).raw));
  const authenticated = wrap(sequenceTag, toContent(wrap(sequenceTag, ...bags)));
  return wrap(sequenceTag, version3, toContent(authenticated));
}

const toContent = (content: Buffer): Buffer =>
  wrap(sequenceTag, der(oid(dataType)), wrap(explicitTag, wrap(octetStringTag, content)));

function toBag(certificate: Buffer): Buffer {
  const entry = wrap(sequenceTag, der(oid(x509Type)), wrap(explicitTag, der(octets(certificate))));
  const attributes = set(sequence(oid(trustedKeyUsage), set(oid(anyUsage))));
  return wrap(sequenceTag, der(oid(certBagType)), wrap(explicitTag, entry), der(attributes));
}
