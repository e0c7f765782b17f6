import { type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { ensurePair, loadKey, type PairFiles, readCertFile } from './authority-files.ts';
import { createSigner, keyIdOf, subjectKeyIdOid } from './certificate.ts';
import { contentOf, derChildrenOf, oid } from './der.ts';
import { createLeafMaker, type Issuer, type Leaf } from './leaf.ts';
import { newAuthority } from './new-authority.ts';

export interface Authority {
  /** The certificate that clients trust, and those above it where the file has some. Never a key. */
  readonly certPem: string;
  readonly certFile: string;
  readonly expiresAtMs: number;
  /** Returns a leaf certificate for a normalised host; see `createLeafMaker` for its bounds and errors. */
  issue(host: string, nowMs: number): Leaf;
}

interface AuthorityOptions extends PairFiles {
  readonly nowMs: number;
}

/**
 * Opens the certificate authority for TLS interception. Where both files are missing they are made, the key
 * with mode 0600. `newAuthority` says what is in the certificate, `ensurePair` what happens when several
 * daemons start at once. A user's own pair is taken as it is: EC or RSA, root or intermediate. Throws an
 * Error that says what to do where the pair is incomplete or does not fit together. It also throws where the
 * pair is not valid for signing now, or others can reach the key.
 */
export function openAuthority({ certFile, keyFile, nowMs }: AuthorityOptions): Authority {
  ensurePair({ certFile, keyFile }, () => newAuthority(nowMs));
  const key = loadKey(keyFile);
  const chain = parseChain(certFile);
  const [certificate] = chain;
  const complaint = complaintAbout(certificate, key, nowMs);
  if (complaint !== undefined) throw new Error(`The CA certificate ${certFile} ${complaint}`);

  const issuer: Issuer = {
    ...createSigner(key),
    ...namesOf(certificate),
    notBeforeMs: certificate.validFromDate.getTime(),
    expiresAtMs: certificate.validToDate.getTime(),
    chainPem: chain.map(String).join(''),
  };
  const issue = createLeafMaker(issuer);
  proveUsable(issue('localhost', nowMs), certificate, certFile);
  return { certPem: issuer.chainPem, certFile, expiresAtMs: issuer.expiresAtMs, issue };
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const chainMax = 10;

/**
 * Returns the certificates of a file, the authority's own first. Whatever else the file has is left out: it
 * may be a key.
 */
function parseChain(certFile: string): [X509Certificate, ...X509Certificate[]] {
  try {
    const [first, ...others] = (readCertFile(certFile).match(certificateBlock) ?? []).slice(0, chainMax);
    return [new X509Certificate(first ?? ''), ...others.map((pem) => new X509Certificate(pem))];
  } catch (cause) {
    throw new Error(`The CA certificate ${certFile} cannot be read as PEM.`, { cause });
  }
}

const newPair = 'Bring a valid pair, or move both files away to have a new CA made.';
const curves = ['prime256v1', 'secp384r1', 'secp521r1'];
const rsaBitsMin = 2048;

/**
 * Returns the reason against signing leaves with this pair, as the end of a sentence; undefined where there
 * is none.
 */
function complaintAbout(certificate: X509Certificate, key: KeyObject, nowMs: number): string | undefined {
  if (!certificate.checkPrivateKey(key)) return `does not belong to the key beside it. ${newPair}`;
  if (!certificate.ca) return `is not one of a CA (basicConstraints CA:TRUE, keyCertSign). ${newPair}`;
  if (nowMs >= certificate.validToDate.getTime()) return `expired on ${certificate.validTo}. ${newPair}`;
  if (nowMs < certificate.validFromDate.getTime()) {
    return `is not valid before ${certificate.validFrom}. Is the clock right?`;
  }
  const { namedCurve = '', modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const isKnown = key.asymmetricKeyType === 'rsa' ? modulusLength >= rsaBitsMin : curves.includes(namedCurve);
  return isKnown
    ? undefined
    : `needs an EC key (P-256, P-384, P-521) or an RSA key of ${rsaBitsMin} bits. ${newPair}`;
}

/**
 * Returns subject and key id as they stand in the certificate. Clients compare them byte for byte with what a
 * leaf says.
 */
function namesOf(certificate: X509Certificate): { name: Buffer; keyId: Buffer } {
  const [body] = derChildrenOf(certificate.raw);
  // The fields are version [0] (always there in a certificate with extensions), serial, signature, issuer,
  // validity, subject, … (RFC 5280, 4.1).
  const fields = derChildrenOf(body ?? certificate.raw);
  const name = fields[5];
  const extensions = fields.find((field) => field[0] === 0xa3);
  if (!name || !extensions) throw new TypeError('The CA certificate has no extensions.');
  const keyIdType = oid(subjectKeyIdOid);
  const keyIdExtension = derChildrenOf(derChildrenOf(extensions)[0] ?? extensions)
    .map(derChildrenOf)
    .find(([type]) => type?.equals(keyIdType));
  const value = keyIdExtension?.at(-1);
  const keyId = value ? contentOf(contentOf(value)) : keyIdOf(certificate.publicKey);
  return { name: Buffer.from(name), keyId: Buffer.from(keyId) };
}

/**
 * Tries the first leaf out, at the start. So a pair that TLS cannot use is an error now and not at each
 * handshake.
 */
function proveUsable(leaf: Leaf, certificate: X509Certificate, certFile: string): void {
  try {
    createSecureContext({ cert: leaf.cert, key: leaf.key, ca: [] });
  } catch (cause) {
    throw new Error(`TLS cannot use the CA certificate ${certFile}. ${newPair}`, { cause });
  }
  const issued = new X509Certificate(leaf.cert);
  if (!issued.checkIssued(certificate) || !issued.verify(certificate.publicKey)) {
    throw new Error(`The CA certificate ${certFile} does not verify what its key signs. ${newPair}`);
  }
}
