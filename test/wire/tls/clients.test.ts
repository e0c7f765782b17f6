import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import t from 'tap';
import { needProgram } from '../../support/programs.ts';
import { openTunnels, testAuthority, visit } from './tunnel.ts';

const run = promisify(execFile);
const longName = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(9)}.example`;

const hosts = [
  { name: 'a name', host: 'api.example.com' },
  { name: 'a single label', host: 'internal' },
  { name: 'a punycode name', host: 'xn--mnchen-3ya.example' },
  { name: 'a name of 200 characters', host: longName },
  { name: 'an IPv4 address', host: '203.0.113.5' },
  { name: 'an IPv6 address', host: '2001:db8::5' },
];
const toUrl = (host: string): string => `https://${isIP(host) === 6 ? `[${host}]` : host}/`;

t.equal(longName.length, 200);
const authority = testAuthority(t);
const port = await openTunnels(t, authority);
const proxy = `http://127.0.0.1:${port}`;

t.test('Node trusts the leaf', async (t) => {
  for (const { name, host } of hosts) {
    const { answer } = await visit(port, host, {
      ca: authority.certPem,
      servername: isIP(host) ? '' : host,
    });
    t.match(answer, { host, servername: isIP(host) ? false : host }, name);
  }
  await t.rejects(visit(port, 'api.example.com', { servername: 'api.example.com' }), {
    code: 'SELF_SIGNED_CERT_IN_CHAIN',
  });
});

t.test('curl trusts the leaf', async (t) => {
  const curl = needProgram(t, 'curl');
  if (!curl) return;
  const fetch = (host: string, ...more: string[]) =>
    run(curl, ['-q', '--silent', '--show-error', '--max-time', '20', '--proxy', proxy, ...more, toUrl(host)]);
  for (const { name, host } of hosts) {
    const { stdout } = await fetch(host, '--noproxy', '', '--cacert', authority.certFile);
    t.match(JSON.parse(stdout), { host }, name);
  }
  await t.rejects(fetch('api.example.com', '--noproxy', ''), { code: 60 }, 'but not without the CA');
});

const pythonVisits = `
import socket, ssl, sys, urllib.request
port, ca, hosts = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
context = ssl.create_default_context(cafile=ca)
# What Python 3.13 has on by default.
context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({'https': f'http://127.0.0.1:{port}'}),
    urllib.request.HTTPSHandler(context=context))
for host in hosts:
    if ':' not in host:
        print(opener.open(f'https://{host}/', timeout=20).read().decode())
        continue
    with socket.create_connection(('127.0.0.1', port), 20) as raw:
        raw.sendall(f'CONNECT [{host}]:443 HTTP/1.1\\r\\n\\r\\n'.encode())
        raw.recv(1000)
        with context.wrap_socket(raw, server_hostname=host) as secure:
            secure.sendall(f'GET / HTTP/1.1\\r\\nHost: [{host}]\\r\\n\\r\\n'.encode())
            print(secure.makefile().read().split('\\n')[-1])
`;

t.test('Python trusts the leaf with X.509 checks set to strict', async (t) => {
  const python = needProgram(t, 'python3');
  if (!python) return;
  const names = hosts.map(({ host }) => host);
  const { stdout } = await run(python, ['-c', pythonVisits, String(port), authority.certFile, ...names], {
    env: {},
  });
  t.same(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).host),
    names,
  );
});

t.test('Chromium trusts the leaf once the CA is in its store', async (t) => {
  const executablePath = needProgram(t, 'chromium');
  const certutil = needProgram(t, 'certutil');
  if (!executablePath || !certutil) return;
  const home = t.testdir({ trusting: { '.pki': { nssdb: {} } }, other: {} });
  const store = `sql:${join(home, 'trusting/.pki/nssdb')}`;
  await run(certutil, ['-d', store, '-N', '--empty-password']);
  await run(certutil, ['-d', store, '-A', '-t', 'C,,', '-n', 'postern', '-i', authority.certFile]);

  const open = async (user: string) => {
    const HOME = join(home, user);
    const browser = await chromium.launch({
      executablePath,
      env: { ...process.env, HOME, XDG_CONFIG_HOME: HOME, XDG_CACHE_HOME: HOME },
      proxy: { server: proxy },
      args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      chromiumSandbox: false,
    });
    t.teardown(() => browser.close());
    return browser.newPage();
  };

  const page = await open('trusting');
  for (const { name, host } of hosts) {
    const response = await page.goto(toUrl(host));
    t.match(await response?.json(), { host }, name);
  }
  const untrusting = await open('other');
  await t.rejects(untrusting.goto('https://api.example.com/'), /ERR_CERT_AUTHORITY_INVALID/);
});
