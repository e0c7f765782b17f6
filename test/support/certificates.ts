import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';

/*
 * Certificates for the servers that tests start, made when they are needed. Nothing of this is used outside of tests; the
 * gateway's own authority is in src/tls/.
 */

export interface IssuedCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface CertificateOptions {
  /** Host names, wildcards and addresses for the subjectAltName. */
  readonly names?: readonly string[];
  /** Days from now. */
  readonly validFromDays?: number;
  readonly validToDays?: number;
  /** Signed by its own key instead of the authority's. */
  readonly selfSigned?: boolean;
}

export interface TestAuthority {
  readonly certPem: string;
  issue(options?: CertificateOptions): IssuedCertificate;
}

const dayMs = 86_400_000;
export const defaultNames = ['localhost', 'test.example', '*.test.example', '127.0.0.1', '::1'] as const;

interface KeyPair {
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly publicKey: forge.pki.rsa.PublicKey;
}

function newKeyPair(): KeyPair {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return {
    pem: pair.privateKey,
    privateKey: createPrivateKey(pair.privateKey),
    publicKey: forge.pki.publicKeyFromPem(pair.publicKey) as forge.pki.rsa.PublicKey,
  };
}

let leafKeys: KeyPair | undefined;

/** An authority of its own, trusted by nobody. Making the keys takes about a tenth of a second. */
export function createTestAuthority(commonName = 'Test Authority'): TestAuthority {
  const keys = newKeyPair();
  const subject = [{ name: 'commonName', value: `${commonName} ${randomBytes(4).toString('hex')}` }];
  const authority = newCertificate(keys, subject, subject, -1, 30);
  authority.setExtensions([
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, critical: true },
  ]);
  signWith(keys, authority);

  return {
    certPem: forge.pki.certificateToPem(authority),
    issue({ names = defaultNames, validFromDays = -1, validToDays = 30, selfSigned = false } = {}) {
      leafKeys ??= newKeyPair();
      const leafSubject = [{ name: 'commonName', value: names[0] ?? 'nameless' }];
      const issuer = selfSigned ? leafSubject : subject;
      const leaf = newCertificate(leafKeys, leafSubject, issuer, validFromDays, validToDays);
      leaf.setExtensions([
        { name: 'basicConstraints', cA: false, critical: true },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames: names.map(toAltName) },
      ]);
      signWith(selfSigned ? leafKeys : keys, leaf);
      return { certPem: forge.pki.certificateToPem(leaf), keyPem: leafKeys.pem };
    },
  };
}

/** By OpenSSL, in a fiftieth of the time that the library takes for a signature. */
function signWith({ privateKey }: KeyPair, certificate: forge.pki.Certificate): void {
  const key = {
    sign: () => {
      const signed = Buffer.from(forge.asn1.toDer(certificate.tbsCertificate).getBytes(), 'latin1');
      return sign('sha256', signed, privateKey).toString('latin1');
    },
  };
  certificate.sign(key as unknown as forge.pki.rsa.PrivateKey, forge.md.sha256.create());
}

function newCertificate(
  keys: KeyPair,
  subject: forge.pki.CertificateField[],
  issuer: forge.pki.CertificateField[],
  fromDays: number,
  toDays: number,
): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  certificate.serialNumber = `01${randomBytes(12).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() + fromDays * dayMs);
  certificate.validity.notAfter = new Date(Date.now() + toDays * dayMs);
  certificate.setSubject(subject);
  certificate.setIssuer(issuer);
  return certificate;
}

/** GeneralName (RFC 5280, 4.2.1.6): 2 is a DNS name, 7 an address. */
const toAltName = (name: string) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name });

let shared: TestAuthority | undefined;

/** The authority of this test process, made at its first use. */
export function testAuthority(): TestAuthority {
  shared ??= createTestAuthority();
  return shared;
}
