import { generateKeyPairSync } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import {
  commonNameOid,
  dayMs,
  distinguishedName,
  extension,
  keyIdOf,
  type Signer,
  signCertificate,
  subjectKeyId,
  toPem,
} from './certificate.ts';
import { bits, oid, sequence, tagged } from './der.ts';

/** An authority, with what its leaves need of it. */
export interface Issuer extends Signer {
  /** Subject of the authority, as DER. */
  readonly name: Buffer;
  /** Subject key identifier of the authority, as its own certificate has it. */
  readonly keyId: Buffer;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
  /** The authority's certificate, and those above it that clients need to be sent. */
  readonly chainPem: string;
}

export interface Leaf {
  /** PEM: the leaf, then the authority's chain. */
  readonly cert: string;
  /** PEM (PKCS #8); the same text for every leaf of this process. */
  readonly key: string;
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
}

/**
 * Time for which a leaf is valid. It is far under the 47 days that browsers will allow public leaves from
 * 2029 on; private authorities are not held to that yet.
 */
const lifetimeMs = 30 * dayMs;
/** Time by which a leaf is backdated, so that clients whose clock is behind accept it, too. */
const backdatingMs = dayMs;
/** Characters of a common name (RFC 5280, appendix A.1: ub-common-name). */
const commonNameMax = 64;

/** Matches names as `normaliseHost` gives them, and nothing else: no `*`, no upper case, no NUL. */
const dnsName = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/**
 * Returns a function that makes leaves for an issuer. The function is synchronous: it signs once (0.03 ms in
 * all with a P-256 authority, 1.5 ms with RSA of 4096 bits). All leaves share one key pair that is made here
 * and never leaves the process. A pair for each would cost another 0.07 ms. It would protect nothing: whoever
 * reads one key out of this process can read them all.
 *
 * A leaf is valid from a day ago until in 30 days, and never outside of its issuer's time. The function
 * throws RangeError once the issuer has expired, and TypeError for a host that is neither a normalised name
 * nor an address.
 */
export function createLeafMaker(issuer: Issuer): (host: string, nowMs: number) => Leaf {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const constantExtensions = [
    extension('2.5.29.19', true, sequence()), // basicConstraints: not an authority
    extension('2.5.29.15', true, bits(7, Buffer.of(0x80))), // keyUsage: digitalSignature
    extension('2.5.29.37', false, sequence(oid('1.3.6.1.5.5.7.3.1'))), // extKeyUsage: serverAuth
    subjectKeyId(keyIdOf(pair.publicKey)),
    extension('2.5.29.35', false, sequence(tagged(0, issuer.keyId))), // authorityKeyIdentifier
  ];

  return (host, nowMs) => {
    if (nowMs >= issuer.expiresAtMs) throw new RangeError('The certificate authority has expired.');
    const alternativeName = toGeneralName(host);
    const hasCommonName = host.length <= commonNameMax;
    const notBeforeMs = Math.max(nowMs - backdatingMs, issuer.notBeforeMs);
    const expiresAtMs = Math.min(nowMs + lifetimeMs, issuer.expiresAtMs);
    const certificate = signCertificate(
      {
        issuer: issuer.name,
        notBeforeMs,
        notAfterMs: expiresAtMs,
        subject: distinguishedName(hasCommonName ? [[commonNameOid, host]] : []),
        publicKey,
        // Where the subject is empty, subjectAltName is critical (RFC 5280, 4.2.1.6).
        extensions: [
          ...constantExtensions,
          extension('2.5.29.17', !hasCommonName, sequence(alternativeName)),
        ],
      },
      issuer,
    );
    return { cert: toPem(certificate) + issuer.chainPem, key, notBeforeMs, expiresAtMs };
  };
}

/** Returns a dNSName or an iPAddress (RFC 5280, 4.2.1.6). Clients look an address up in the latter alone. */
function toGeneralName(host: string): Buffer {
  if (isIP(host) && !host.includes('%')) return tagged(7, Buffer.from(ipaddr.parse(host).toByteArray()));
  if (!dnsName.test(host)) throw new TypeError('The host is neither a normalised name nor an address.');
  return tagged(2, Buffer.from(host, 'latin1'));
}
