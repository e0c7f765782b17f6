import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { PairFiles } from '../../../src/wire/tls/authority-files.ts';
import {
  commonNameOid,
  createSigner,
  dayMs,
  distinguishedName,
  extension,
  keyIdOf,
  signCertificate,
  subjectKeyId,
  toPem,
} from '../../../src/wire/tls/certificate.ts';
import { around, bits, isTrue, sequence, tagged } from '../../../src/wire/tls/der.ts';

export const pathsIn = (folder: string): PairFiles => ({
  certFile: join(folder, 'ca.pem'),
  keyFile: join(folder, 'ca-key.pem'),
});

/** The pair as files in the test's own folder. */
export function bring(t: Test, ca: Pick<TestCa, 'certPem' | 'keyPem'>, keyMode = 0o600): PairFiles {
  const paths = pathsIn(t.testdir());
  writeFileSync(paths.certFile, ca.certPem);
  writeFileSync(paths.keyFile, ca.keyPem);
  chmodSync(paths.keyFile, keyMode);
  return paths;
}

export interface CaShape {
  readonly key?: KeyObject;
  readonly name?: string;
  readonly isCa?: boolean;
  readonly hasKeyId?: boolean;
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
  /** Name constraints: leaves for this name and below it only. */
  readonly permittedName?: string;
  /** Signed by this one instead of by itself. */
  readonly parent?: TestCa;
}

export interface TestCa {
  readonly certPem: string;
  readonly keyPem: string;
  readonly key: KeyObject;
  readonly subject: Buffer;
}

export const ecKey = (namedCurve = 'P-256'): KeyObject =>
  generateKeyPairSync('ec', { namedCurve }).privateKey;
export const rsaKey = (modulusLength: number): KeyObject =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey;

/** An authority as a user may bring it, right or wrong in any respect. */
export function makeCa(shape: CaShape = {}): TestCa {
  const {
    key = ecKey(),
    name = 'A CA of our own',
    isCa = true,
    hasKeyId = true,
    permittedName,
    parent,
  } = shape;
  const { notBeforeMs = Date.now() - dayMs, notAfterMs = Date.now() + 90 * dayMs } = shape;
  const publicKey = createPublicKey(key);
  const subject = distinguishedName([[commonNameOid, name]]);
  const certificate = signCertificate(
    {
      issuer: parent?.subject ?? subject,
      notBeforeMs,
      notAfterMs,
      subject,
      publicKey: publicKey.export({ type: 'spki', format: 'der' }),
      extensions: [
        extension('2.5.29.19', true, isCa ? sequence(isTrue) : sequence()),
        extension('2.5.29.15', true, bits(1, Buffer.of(0x06))),
        ...(permittedName ? [nameConstraints(permittedName)] : []),
        ...(hasKeyId ? [subjectKeyId(keyIdOf(publicKey))] : []),
      ],
    },
    createSigner(parent?.key ?? key),
  );
  const keyPem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { certPem: toPem(certificate), keyPem, key, subject };
}

/** RFC 5280, 4.2.1.10, with one permitted dNSName. */
const nameConstraints = (permittedName: string): Buffer =>
  extension('2.5.29.30', true, sequence(around(0, sequence(tagged(2, Buffer.from(permittedName))))));
