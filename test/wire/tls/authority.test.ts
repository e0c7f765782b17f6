import { spawn } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { openAuthority } from '../../../src/wire/tls/authority.ts';
import { dayMs, keyIdOf } from '../../../src/wire/tls/certificate.ts';
import { derChildrenOf } from '../../../src/wire/tls/der.ts';
import { bring, ecKey, makeCa, pathsIn, rsaKey } from './test-ca.ts';
import { openTunnels, visit } from './tunnel.ts';

const nowMs = Date.now();
t.test('makes a pair where there is none', async (t) => {
  const folder = join(t.testdir(), 'not', 'there', 'yet');
  const paths = pathsIn(folder);
  const authority = openAuthority({ ...paths, nowMs });
  const certificate = new X509Certificate(authority.certPem);
  const keyId = keyIdOf(certificate.publicKey).toString('hex');

  t.same(readdirSync(folder).sort(), ['ca-key.pem', 'ca.pem'], 'and leaves nothing else behind');
  t.equal(statSync(paths.keyFile).mode & 0o777, 0o600);
  t.equal(readFileSync(paths.certFile, 'latin1'), authority.certPem);
  t.equal(certificate.subject, `O=Postern\nCN=Postern CA ${keyId.slice(0, 8)}`);
  t.equal(certificate.ca, true);
  t.ok(certificate.verify(certificate.publicKey));
  t.match(certificate.publicKey.asymmetricKeyDetails, { namedCurve: 'prime256v1' });
  const hex = certificate.raw.toString('hex');
  t.match(hex, '0603551d130101ff040830060101ff020100', 'basicConstraints: critical, CA, pathLen 0');
  t.match(hex, '0603551d0f0101ff040403020106', 'keyUsage: critical, keyCertSign and cRLSign');
  t.match(hex, `0603551d0e04160414${keyId}`, 'subjectKeyIdentifier');
  const wholeSeconds = Math.floor(nowMs / 1000) * 1000;
  t.equal(certificate.validFromDate.getTime(), wholeSeconds - dayMs);
  t.equal(certificate.validToDate.getTime(), wholeSeconds + 3649 * dayMs);
  t.equal(authority.expiresAtMs, certificate.validToDate.getTime());
});

t.test('opens the pair that it made before', async (t) => {
  const paths = pathsIn(t.testdir());
  const first = openAuthority({ ...paths, nowMs });
  t.equal(openAuthority({ ...paths, nowMs: nowMs + dayMs }).certPem, first.certPem);
});

t.test('takes a pair that a user brought', async (t) => {
  const root = makeCa({ name: 'A root' });
  const between = makeCa({ name: 'An intermediate', parent: root });
  const p256 = makeCa();
  const cases = [
    { name: 'RSA', ca: makeCa({ key: rsaKey(2048) }) },
    { name: 'P-384', ca: makeCa({ key: ecKey('P-384') }) },
    { name: 'without a subject key identifier', ca: makeCa({ hasKeyId: false }) },
    { name: 'an intermediate and its root', ca: { ...between, certPem: between.certPem + root.certPem } },
    { name: 'an intermediate whose root the clients have', ca: between, trust: root.certPem },
    { name: 'with text around it', ca: { ...p256, certPem: `Bag Attributes\r\n${p256.certPem}\nend` } },
  ];
  for (const { name, ca, trust } of cases) {
    await t.test(name, async (t) => {
      const authority = openAuthority({ ...bring(t, ca), nowMs });
      const port = await openTunnels(t, authority);
      const servername = 'api.example.com';
      const { answer } = await visit(port, servername, { ca: trust ?? authority.certPem, servername });
      t.match(answer, { host: servername });
    });
  }
});

t.test('lets name constraints of a brought CA limit what clients accept', async (t) => {
  const authority = openAuthority({ ...bring(t, makeCa({ permittedName: 'example.com' })), nowMs });
  const port = await openTunnels(t, authority);
  const open = (servername: string) => visit(port, servername, { ca: authority.certPem, servername });
  t.match((await open('api.example.com')).answer, { host: 'api.example.com' });
  await t.rejects(open('api.example.org'), /permitted subtree violation/);
});

t.test('publishes certificates only, whatever else the file has', async (t) => {
  const ca = makeCa();
  const paths = bring(t, { ...ca, certPem: ca.keyPem + ca.certPem });
  const { certPem, issue } = openAuthority({ ...paths, nowMs });
  t.equal(certPem, ca.certPem);
  t.notMatch(issue('a.example', nowMs).cert, 'PRIVATE');
});

t.test('refuses a pair that cannot work, and says what to do', async (t) => {
  const good = makeCa();
  const ed25519 = generateKeyPairSync('ed25519').privateKey;
  const rsaPem = makeCa({ key: rsaKey(2048) }).keyPem;
  const encrypted = good.key
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString();
  const cases = [
    {
      name: 'a key of another',
      ca: { ...good, keyPem: makeCa().keyPem },
      want: /does not belong to the key/,
    },
    {
      name: 'expired',
      ca: makeCa({ notBeforeMs: nowMs - 9 * dayMs, notAfterMs: nowMs - dayMs }),
      want: /expired on .*move both files away/,
    },
    { name: 'not valid yet', ca: makeCa({ notBeforeMs: nowMs + dayMs }), want: /clock/ },
    { name: 'no CA', ca: makeCa({ isCa: false }), want: /is not one of a CA/ },
    { name: 'a short RSA key', ca: makeCa({ key: rsaKey(1024) }), want: /RSA key of 2048 bits/ },
    { name: 'a key of another kind', ca: { ...good, keyPem: rsaPem }, want: /does not belong to the key/ },
    { name: 'an Ed25519 key', ca: makeCa({ key: ed25519, parent: good }), want: /needs an EC key/ },
    { name: 'an odd curve', ca: makeCa({ key: ecKey('secp256k1') }), want: /P-256/ },
    { name: 'a passphrase', ca: { ...good, keyPem: encrypted }, want: /PEM without a passphrase/ },
    { name: 'an empty key', ca: { ...good, keyPem: '' }, want: /not a private key in PEM/ },
    { name: 'an empty certificate', ca: { ...good, certPem: '' }, want: /cannot be read as PEM/ },
    {
      name: 'half a certificate',
      ca: { ...good, certPem: good.certPem.slice(0, 200) },
      want: /cannot be read as PEM/,
    },
    {
      name: 'a huge file',
      ca: { ...good, certPem: good.certPem + '\n'.repeat(1_048_576) },
      want: /cannot be read as PEM/,
    },
  ];
  for (const { name, ca, want } of cases) {
    await t.test(name, async (t) => {
      const paths = bring(t, ca);
      t.throws(() => openAuthority({ ...paths, nowMs }), { message: want });
      t.equal(readFileSync(paths.certFile, 'latin1'), ca.certPem, 'and leaves it as it is');
      t.equal(readFileSync(paths.keyFile, 'latin1'), ca.keyPem);
    });
  }
  t.test('one file for both', async (t) => {
    const { certFile } = pathsIn(t.testdir());
    t.throws(() => openAuthority({ certFile, keyFile: certFile, nowMs }), /must be two files/);
  });
});

t.test('refuses a key that others can reach', async (t) => {
  for (const mode of [0o640, 0o620, 0o604, 0o602, 0o610, 0o644, 0o666]) {
    const paths = bring(t, makeCa(), mode);
    t.throws(
      () => openAuthority({ ...paths, nowMs }),
      /can be reached by others .*chmod 600/,
      mode.toString(8),
    );
  }
  for (const mode of [0o600, 0o400]) {
    t.doesNotThrow(() => openAuthority({ ...bring(t, makeCa(), mode), nowMs }), mode.toString(8));
  }
});

t.test('refuses half a pair', async (t) => {
  const keyOnly = bring(t, makeCa());
  rmSync(keyOnly.certFile);
  t.throws(() => openAuthority({ ...keyOnly, nowMs }), /without its certificate.*Restore the certificate/);
  t.equal(existsSync(keyOnly.certFile), false);

  const certOnly = bring(t, makeCa());
  rmSync(certOnly.keyFile);
  t.throws(() => openAuthority({ ...certOnly, nowMs }), /without its key.*Restore the key/);
  t.equal(existsSync(certOnly.keyFile), false);
});

t.test('after a crash', async (t) => {
  const pendingNames = (paths: { certFile: string; keyFile: string }, certPem: string) => {
    const keyId = keyIdOf(new X509Certificate(certPem).publicKey).toString('hex');
    return { cert: `${paths.certFile}.${keyId}.new.pem`, key: `${paths.keyFile}.${keyId}.new.pem` };
  };

  t.test('before the key has its name, makes a new pair', async (t) => {
    const paths = pathsIn(t.testdir());
    const { certPem } = openAuthority({ ...paths, nowMs });
    const pending = pendingNames(paths, certPem);
    renameSync(paths.certFile, pending.cert);
    renameSync(paths.keyFile, pending.key);
    t.not(openAuthority({ ...paths, nowMs }).certPem, certPem);
  });

  t.test('after the key has its name, finishes the pair', async (t) => {
    const folder = t.testdir();
    const paths = pathsIn(folder);
    const { certPem } = openAuthority({ ...paths, nowMs });
    const pending = pendingNames(paths, certPem);
    renameSync(paths.certFile, pending.cert);
    linkSync(paths.keyFile, pending.key);
    t.equal(openAuthority({ ...paths, nowMs }).certPem, certPem);
    t.same(readdirSync(folder).sort(), ['ca-key.pem', 'ca.pem']);
  });

  t.test('does not take the certificate of another key', async (t) => {
    const paths = pathsIn(t.testdir());
    const { certPem } = openAuthority({ ...paths, nowMs });
    renameSync(paths.certFile, pendingNames(paths, certPem).cert);
    writeFileSync(paths.keyFile, makeCa().keyPem);
    t.throws(() => openAuthority({ ...paths, nowMs }), /without its certificate/);
  });
});

t.test('leaves no key behind where the certificate cannot be written', async (t) => {
  const folder = t.testdir({ file: 'in the way' });
  const keyFile = join(folder, 'ca-key.pem');
  t.throws(() => openAuthority({ certFile: join(folder, 'file', 'ca.pem'), keyFile, nowMs }));
  t.same(readdirSync(folder), ['file']);
});

t.test('gives several daemons that start at once one pair', async (t) => {
  const module = new URL('../../../src/wire/tls/authority.ts', import.meta.url).href;
  for (let round = 0; round < 3; round++) {
    const folder = join(t.testdir(), String(round));
    const program = `
      import { openAuthority } from ${JSON.stringify(module)};
      process.stdin.once('data', () => {
        const options = { ...${JSON.stringify(pathsIn(folder))}, nowMs: Date.now() };
        process.stdout.write(openAuthority(options).certPem);
        process.stdin.destroy();
      });
      process.stderr.write('ready');
    `;
    const daemons = Array.from({ length: 5 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', program], { env: {} }),
    );
    t.teardown(() => {
      for (const daemon of daemons) daemon.kill();
    });
    await Promise.all(daemons.map(({ stderr }) => once(stderr, 'data')));
    const outputs = daemons.map(({ stdout }) => text(stdout));
    for (const { stdin } of daemons) stdin.write('go');
    const certs = new Set(await Promise.all(outputs));

    t.same([...certs], [readFileSync(join(folder, 'ca.pem'), 'latin1')], 'all have the same certificate');
    t.same(readdirSync(folder).sort(), ['ca-key.pem', 'ca.pem']);
    t.doesNotThrow(() => openAuthority({ ...pathsIn(folder), nowMs }));
  }
});

t.test('names itself in leaves byte for byte as in its certificate', async (t) => {
  const { certPem, issue } = openAuthority({ ...bring(t, makeCa({ name: 'Zürich Œuvre' })), nowMs });
  const fieldsOf = (pem: string) =>
    derChildrenOf(derChildrenOf(new X509Certificate(pem).raw)[0] ?? Buffer.of());
  t.same(fieldsOf(issue('a.example', nowMs).cert)[3], fieldsOf(certPem)[5]);
});
