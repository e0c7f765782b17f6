import { generateKeyPairSync } from 'node:crypto';
import {
  commonNameOid,
  createSigner,
  dayMs,
  distinguishedName,
  extension,
  keyIdOf,
  organizationOid,
  signCertificate,
  subjectKeyId,
  toPem,
} from './certificate.ts';
import { bits, derInteger, isTrue, sequence } from './der.ts';

const lifetimeMs = 3650 * dayMs;
const backdatingMs = dayMs;

export interface KeyAndCertificate {
  readonly keyPem: string;
  readonly certPem: string;
  /** Id of the key in hex, which names the pair. */
  readonly keyId: string;
}

/**
 * Returns a new authority: ECDSA P-256, self-signed, ten years including the day by which it is backdated. It
 * may sign leaves and revocation lists, but no further authorities (pathLen 0). Its name carries the id of
 * its key, so that two Posterns in one trust store are told apart. So a client never tries the key of one on
 * a leaf of the other.
 *
 * It has no name constraints. They would be frozen for ten years, while the policy decides anew at each call
 * which hosts may be reached. And a client that meets a host outside of them reports a broken certificate
 * instead of our verdict. Users who want constraints bring an authority of their own that has them.
 */
export function newAuthority(nowMs: number): KeyAndCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyId = keyIdOf(publicKey);
  const name = distinguishedName([
    [organizationOid, 'Postern'],
    [commonNameOid, `Postern CA ${keyId.toString('hex', 0, 4)}`],
  ]);
  const notBeforeMs = nowMs - backdatingMs;
  const certificate = signCertificate(
    {
      issuer: name,
      notBeforeMs,
      notAfterMs: notBeforeMs + lifetimeMs,
      subject: name,
      publicKey: publicKey.export({ type: 'spki', format: 'der' }),
      extensions: [
        extension('2.5.29.19', true, sequence(isTrue, derInteger(Buffer.of(0)))), // basicConstraints
        extension('2.5.29.15', true, bits(1, Buffer.of(0x06))), // keyUsage: keyCertSign, cRLSign
        subjectKeyId(keyId),
      ],
    },
    createSigner(privateKey),
  );
  return {
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certPem: toPem(certificate),
    keyId: keyId.toString('hex'),
  };
}
