import { execFile } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { openAuthority } from '../../../src/wire/tls/authority.ts';
import { dayMs } from '../../../src/wire/tls/certificate.ts';
import { derChildrenOf } from '../../../src/wire/tls/der.ts';
import { needProgram } from '../../support/programs.ts';
import { bring, makeCa, rsaKey } from './test-ca.ts';
import { testAuthority } from './tunnel.ts';

const run = promisify(execFile);
const nowMs = Math.floor(Date.now() / 1000) * 1000;
const label = 'x'.repeat(62);
const name64 = `${label}.y`;
const name65 = `${label}.yy`;
const name253 = `${label}.${label}.${label}.${label}.z`;

const authority = testAuthority(t, nowMs);

const cases = [
  { name: 'a name', host: 'api.example.com', san: 'DNS:api.example.com' },
  { name: 'a single label', host: 'localhost', san: 'DNS:localhost' },
  { name: 'an underscore', host: 'my_bucket.example.com', san: 'DNS:my_bucket.example.com' },
  { name: 'punycode', host: 'xn--mnchen-3ya.example', san: 'DNS:xn--mnchen-3ya.example' },
  { name: '64 characters', host: name64, san: `DNS:${name64}` },
  { name: '65 characters', host: name65, san: `DNS:${name65}`, withoutName: true },
  { name: '253 characters', host: name253, san: `DNS:${name253}`, withoutName: true },
  { name: 'IPv4', host: '203.0.113.5', san: 'IP Address:203.0.113.5' },
  { name: 'IPv6', host: '2001:db8::5', san: 'IP Address:2001:DB8:0:0:0:0:0:5' },
  { name: 'IPv6 that holds IPv4', host: '::ffff:cb00:7105', san: 'IP Address:0:0:0:0:0:FFFF:CB00:7105' },
];

t.test('names the host', async (t) => {
  for (const { name, host, san, withoutName } of cases) {
    const leaf = new X509Certificate(authority.issue(host, nowMs).cert);
    t.equal(leaf.subjectAltName, san, name);
    t.equal(leaf.subject, withoutName ? undefined : `CN=${host}`);
    t.equal(isIP(host) ? leaf.checkIP(host) : leaf.checkHost(host), host);
    // RFC 5280, 4.2.1.6
    t.equal(leaf.raw.toString('hex').includes('0603551d110101ff04'), withoutName === true, 'critical or not');
  }
});

t.test('satisfies openssl verify in its strict mode', async (t) => {
  const openssl = needProgram(t, 'openssl');
  if (!openssl) return;
  const file = join(t.testdir(), 'leaf.pem');
  for (const { name, host } of cases) {
    writeFileSync(file, authority.issue(host, nowMs).cert);
    const expectation = isIP(host) ? ['-verify_ip', host] : ['-verify_hostname', host];
    const options = ['-x509_strict', '-purpose', 'sslserver', '-CAfile', authority.certFile];
    const { stdout } = await run(openssl, ['verify', ...options, ...expectation, file]);
    t.match(stdout, /: OK\n$/, name);
  }
});

t.test('may serve TLS and nothing else', async (t) => {
  const leaf = new X509Certificate(authority.issue('a.example', nowMs).cert);
  const ca = new X509Certificate(authority.certPem);
  t.equal(leaf.ca, false);
  t.same(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  t.match(leaf.raw.toString('hex'), '0603551d0f0101ff040403020780', 'digitalSignature only');
  t.ok(leaf.checkIssued(ca));
  t.ok(leaf.verify(ca.publicKey));
});

t.test('refuses what is no normalised host', async (t) => {
  const hosts = [
    '',
    '*',
    '*.example.com',
    'Example.com',
    'münchen.example',
    'a..b',
    '.a',
    'a.',
    'a b',
    'a\0.example',
    'a\n',
    'a,DNS:b',
    'user@a',
    'a:443',
    '[::1]',
    'fe80::1%eth0',
    '0x7f.1/',
    'x'.repeat(64),
    `${name253}z`,
  ];
  for (const host of hosts) {
    t.throws(() => authority.issue(host, nowMs), { name: 'TypeError' }, JSON.stringify(host));
  }
});

t.test('holds for a day back and 30 days ahead', async (t) => {
  const { cert, expiresAtMs } = authority.issue('a.example', nowMs);
  const leaf = new X509Certificate(cert);
  t.equal(leaf.validFromDate.getTime(), nowMs - dayMs);
  t.equal(leaf.validToDate.getTime(), nowMs + 30 * dayMs);
  t.equal(expiresAtMs, nowMs + 30 * dayMs);
});

t.test('never outlives the authority, nor is older than it', async (t) => {
  const ca = makeCa({ notBeforeMs: nowMs - 3600_000, notAfterMs: nowMs + 10 * dayMs });
  const authority = openAuthority({ ...bring(t, ca), nowMs });

  for (const atMs of [nowMs, nowMs + 9 * dayMs, authority.expiresAtMs - 1]) {
    const leaf = new X509Certificate(authority.issue('a.example', atMs).cert);
    t.equal(leaf.validToDate.getTime(), authority.expiresAtMs);
    t.ok(leaf.validFromDate.getTime() >= nowMs - 3600_000);
  }
  for (const atMs of [authority.expiresAtMs, authority.expiresAtMs + dayMs]) {
    t.throws(() => authority.issue('a.example', atMs), /expired/);
  }
});

t.test('writes years from 2050 on as four digits', async (t) => {
  const { issue } = openAuthority({ ...bring(t, makeCa({ notAfterMs: Date.UTC(2060, 0) })), nowMs });
  const leaf = new X509Certificate(issue('a.example', Date.UTC(2049, 11, 20)).cert);
  t.equal(leaf.validFromDate.getTime(), Date.UTC(2049, 11, 19));
  t.equal(leaf.validToDate.getTime(), Date.UTC(2050, 0, 19));
});

t.test('is signed with SHA-256 by an RSA authority too', async (t) => {
  const { issue } = openAuthority({ ...bring(t, makeCa({ key: rsaKey(2048) })), nowMs });
  const leaf = new X509Certificate(issue('a.example', nowMs).cert);
  t.equal(leaf.signatureAlgorithm, 'sha256WithRSAEncryption');
  t.match(leaf.publicKey.asymmetricKeyDetails, { namedCurve: 'prime256v1' }, 'over an EC key');
});

t.test('has a serial of its own, positive and of 16 bytes, and the key of the process', async (t) => {
  const serials = new Set<string>();
  const keys = new Set<string>();
  for (let count = 0; count < 500; count++) {
    const { cert, key } = authority.issue('a.example', nowMs);
    const [body] = derChildrenOf(new X509Certificate(cert).raw);
    const serial = derChildrenOf(body ?? Buffer.of())[1]?.toString('hex') ?? '';
    t.match(serial, /^0210[4-7][0-9a-f]{31}$/);
    serials.add(serial);
    keys.add(key);
  }
  t.equal(serials.size, 500);
  t.equal(keys.size, 1);
  const { cert, key } = authority.issue('b.example', nowMs);
  t.ok(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)));
});
