import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, testConfig, writeTestConfig } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { operatorOf, postern } from './support.ts';

interface Check {
  readonly name: string;
  readonly verdict: string;
  readonly setting: string;
}

/** Servers of this machine that stand for the outside: whoever reaches them has got past the gateway. */
async function startOutside(t: Test) {
  const listen = async (host: string): Promise<number> => {
    const server = createServer((socket) => socket.on('error', () => undefined));
    t.teardown(() => void server.close());
    server.listen(0, host);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const tcp = await listen('127.0.0.1');
  const tcp6 = await listen('::1');
  const answering = async (port: number, answer: (asked: Buffer) => Buffer): Promise<number> => {
    const socket = createSocket('udp4');
    t.teardown(() => void socket.close());
    socket.on('message', (asked, { port, address }) => socket.send(answer(asked), port, address));
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
    return socket.address().port;
  };
  await answering(tcp, (asked) => asked.subarray(0, 40));
  // NXDOMAIN: the question again, with QR, RA and RCODE 3 (RFC 1035, 4.1.1).
  const dns = await answering(0, (asked) => {
    const answer = Buffer.from(asked);
    answer.writeUInt16BE(0x8183, 2);
    return answer;
  });
  return ['--outside', `127.0.0.1:${tcp}`, '--outside6', `[::1]:${tcp6}`, '--dns', `127.0.0.1:${dns}`];
}

/** Nothing listens there. */
const nothing = ['--outside', '127.0.0.1:1', '--outside6', '[::1]:1', '--dns', '127.0.0.1:1'];

const verdictsOf = (stdout: string): Record<string, string> =>
  Object.fromEntries((JSON.parse(stdout).checks as Check[]).map(({ name, verdict }) => [name, verdict]));

t.test('doctor finds each weakness of a crippled set-up, and says which setting changes it', async (t) => {
  const upstream = await startUpstream(t);
  const crippled = {
    mode: 'monitor',
    proxy: { require_auth: false },
    control: { listen: '0.0.0.0:0', admin_secret: 'only-16-letters.' },
    state: { on_failure: 'open' },
    response_scan: { mode: 'off' },
    risk: { block_threats: false },
    posture: { secrets: 'ALLOW', bands: { HIGH: 'ALLOW', CRITICAL: 'ALLOW' } },
    doctor: { canary_url: 'https://canary.test.example/' },
  };
  const { dir, configFile } = writeTestConfig(t, { upstream, config: crippled });
  await startDaemon(t, dir, ['--config', configFile]);
  const outside = await startOutside(t);
  const secret = { SERVICE_API_KEYS_ADMIN_SECRET: 'only-16-letters.' };
  const minted = await postern(
    ['--config', configFile, 'key', 'mint', '--permission', 'admin', '--permission', 'scan'],
    {
      env: secret,
    },
  );
  const env = { POSTERN_KEY: minted.stdout.trim(), ...secret };
  const ran = await postern(['--config', configFile, '--json', 'doctor', ...outside], { env });
  t.equal(ran.code, 0, ran.stderr);
  const checks: Check[] = JSON.parse(ran.stdout).checks;
  const planted = {
    'decisions bind': 'mode: enforce',
    'calls without state': 'state.on_failure: closed',
    'control plane in private': 'control.listen',
    'CONNECT without a key': 'proxy.require_auth: true',
    'admin secret': 'SERVICE_API_KEYS_ADMIN_SECRET',
    'answers are read': 'response_scan.mode',
    'threats are blocked': 'risk.block_threats',
    'fake secret': 'posture.secrets: SANITIZE',
    'risk of acme': 'posture.bands',
    'secrets of acme': 'posture.secrets',
    'decisions of acme': 'mode: enforce',
    'the key of this shell': 'postern key mint',
    'direct connection': 'docs/deploy',
    IPv6: 'docs/deploy',
    DNS: 'docs/deploy',
    QUIC: 'docs/deploy',
  };
  for (const [name, setting] of Object.entries(planted)) {
    const found = checks.find((it) => it.name === name);
    t.equal(found?.verdict, 'not enforced', name);
    t.match(found?.setting, setting);
  }
  t.match(verdictsOf(ran.stdout), {
    'metadata address': 'enforced',
    'expired upstream certificate': 'enforced',
    'TLS is read': 'enforced',
  });
  t.notMatch(ran.stdout + ran.stderr, /AKIA|iv_live_|only-16/);

  await t.test('an unread tunnel is found, and no canary goes into it', async (t) => {
    const before = upstream.requests.length;
    writeFileSync(
      configFile,
      stringify(
        testConfig({ upstream, config: { ...crippled, mode: 'enforce', intercept: { passthrough: ['*'] } } }),
      ),
    );
    t.equal((await postern(['--config', configFile, 'reload'], { env })).code, 0);
    const unread = await postern(['--config', configFile, '--json', 'doctor', ...nothing], { env });
    t.match(verdictsOf(unread.stdout), {
      'TLS is read': 'not enforced',
      'no unread hosts': 'not enforced',
      'fake secret': 'unknown',
    });
    t.equal(upstream.requests.length, before);
  });
});

t.test('a sound set-up is found sound, and canaries are of an agent of their own', async (t) => {
  const upstream = await startUpstream(t);
  const config = { doctor: { canary_url: 'https://canary.test.example/' } };
  const { dir, configFile } = writeTestConfig(t, { upstream, config });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const operator = operatorOf(daemon);
  const key = (await operator(['key', 'mint'])).stdout.trim();
  const ran = await postern(['--config', configFile, '--json', 'doctor', ...nothing], {
    env: { POSTERN_KEY: key, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret },
  });
  t.equal(ran.code, 0, ran.stderr);
  t.same(
    JSON.parse(ran.stdout).checks.filter((it: Check) => it.verdict === 'not enforced'),
    [],
  );
  t.match(verdictsOf(ran.stdout), { 'fake secret': 'enforced', 'the key of this shell': 'enforced' });
  const keys = JSON.parse((await operator(['--json', 'key', 'list'])).stdout).items;
  t.equal(keys.find((it: { name: string }) => it.name === 'postern doctor')?.status, 'revoked');

  await t.test('--prove fails when anything gets out, and not otherwise', async (t) => {
    const proxy = daemon.proxyUrl.replace('://', `://agent:${key}@`);
    const env = { HTTPS_PROXY: proxy, POSTERN_CA: daemon.caFile, POSTERN_URL: daemon.controlUrl };
    const closed = await postern(['doctor', '--prove', ...nothing], { env });
    t.match(closed, { code: 0, stdout: /5 enforced, 0 not enforced/ });
    const open = await postern(['doctor', '--prove', ...(await startOutside(t))], { env });
    t.match(open, { code: 1, stdout: /not enforced +direct connection/ });
    const cut = await postern(['doctor', '--prove', ...nothing], {
      env: { ...env, HTTPS_PROXY: 'http://agent:x@127.0.0.1:1' },
    });
    t.match(cut, { code: 1, stdout: /not enforced +the way through the gateway/ });
  });
});
