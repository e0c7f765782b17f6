import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import t, { type Test } from 'tap';
import { testAuthority } from '../support/certificates.ts';
import { basic, run } from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { needProgram } from '../support/programs.ts';
import { startUpstream } from '../support/upstream.ts';

/* Behind a load balancer: the address of the client is what the PROXY header of a connection tells. */

const told = '203.0.113.9';
const textHeader = `PROXY TCP4 ${told} 192.0.2.1 50000 8080\r\n`;
const binaryHeader = Buffer.concat([
  Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'),
  Buffer.of(0x21, 0x11, 0, 12, 203, 0, 113, 9, 192, 0, 2, 1, 0xc3, 0x50, 0x1f, 0x90),
]);

async function start(t: Test, config: Readonly<Record<string, unknown>> = {}) {
  const upstream = await startUpstream(t, undefined, { tls: false });
  const proxy = { proxy_protocol: true, ...(config['proxy'] as object) };
  const gateway = await startTestGateway(t, { config: { ...config, proxy } });
  return { upstream, gateway, port: Number(new URL(gateway.proxyUrl).port) };
}

/** Sends the pieces, each in a segment of its own, and reads what comes until the connection ends. */
async function exchange(port: number, pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise(setImmediate);
  }
  await closed;
  return text;
}

const request = (key: string, url: string, more = ''): string =>
  `GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nProxy-Authorization: ${basic(key)}\r\n${more}Connection: close\r\n\r\n`;

/** Of the call that was answered so. */
async function addressOf(gateway: TestGateway, answer: string): Promise<string> {
  const traceId = /^x-service-trace-id: (\S+)/im.exec(answer)?.[1];
  const { body } = await gateway.api('GET', `/v1/traces/${traceId}`);
  return body.client_address;
}

t.test('the address of the header is that of the client, in both versions, however it is cut', async (t) => {
  const { gateway, port, upstream } = await start(t);
  const call = request(gateway.key, `http://127.0.0.1:${upstream.port}/x`);
  const bytes = Buffer.concat([binaryHeader, Buffer.from(call)]);
  const cases: readonly [name: string, pieces: readonly (string | Buffer)[]][] = [
    ['text in one piece', [textHeader + call]],
    ['text by itself', [textHeader, call]],
    ['byte by byte', [...textHeader, call]],
    ['binary in one piece', [bytes]],
    [
      'binary cut before and behind its length',
      [bytes.subarray(0, 15), bytes.subarray(15, 29), bytes.subarray(29)],
    ],
  ];
  for (const [name, pieces] of cases) {
    const answer = await exchange(port, pieces);
    t.match(answer, /^HTTP\/1\.1 200 .*\{"ok":true\}/s, name);
    t.equal(await addressOf(gateway, answer), told, name);
  }
  t.equal(upstream.requests.length, cases.length);
});

t.test('a header that tells no address leaves that of the load balancer', async (t) => {
  const { gateway, port, upstream } = await start(t);
  const call = request(gateway.key, `http://127.0.0.1:${upstream.port}/x`);
  const local = Buffer.concat([binaryHeader.subarray(0, 12), Buffer.of(0x20, 0, 0, 0)]);
  for (const header of ['PROXY UNKNOWN\r\n', local]) {
    t.equal(await addressOf(gateway, await exchange(port, [header, call])), '127.0.0.1');
  }
});

t.test(
  'allowlists see the address of the header, in tunnels, absolute form and inbound routes',
  async (t) => {
    const { gateway, port, upstream } = await start(t, {
      inbound: [{ prefix: 'own', upstream: 'http://127.0.0.1:9/', auth: { type: 'key' } }],
    });
    const { key } = await gateway.mint({ ip_allowlist: [`${told}/32`] });
    const url = `http://127.0.0.1:${upstream.port}/x`;
    const inside = `GET /x HTTP/1.1\r\nHost: 127.0.0.1:${upstream.port}\r\nConnection: close\r\n\r\n`;
    const connect = `CONNECT 127.0.0.1:${upstream.port} HTTP/1.1\r\nProxy-Authorization: ${basic(key)}\r\n\r\n`;
    const route = `GET /inbound/own/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
    for (const from of [told, '198.51.100.7']) {
      const header = textHeader.replace(told, from);
      const isAllowed = from === told;
      t.match(await exchange(port, [header, request(key, url)]), isAllowed ? / 200 / : /IP_NOT_ALLOWED/);
      t.match(await exchange(port, [header, connect, inside]), isAllowed ? /"ok":true/ : /IP_NOT_ALLOWED/);
      t.match(await exchange(port, [header, route]), isAllowed ? / 502 / : /IP_NOT_ALLOWED/);
    }
  },
);

t.test('a client cannot tell another address than the load balancer did', async (t) => {
  const { gateway, port, upstream } = await start(t);
  const url = `http://127.0.0.1:${upstream.port}/x`;
  const twice = await exchange(port, [
    textHeader,
    textHeader.replace(told, '10.9.9.9'),
    request(gateway.key, url),
  ]);
  t.match(twice, /^HTTP\/1\.1 400 /, 'a second header is no request');
  const said = `X-Forwarded-For: 10.9.9.9\r\nForwarded: for=10.9.9.9\r\n`;
  t.equal(
    await addressOf(gateway, await exchange(port, [textHeader, request(gateway.key, url, said)])),
    told,
  );
});

t.test('a connection without a header is closed without a word', async (t) => {
  const { gateway, port, upstream } = await start(t, { limits: { header_timeout: '200ms' } });
  const call = request(gateway.key, `http://127.0.0.1:${upstream.port}/x`);
  const cases: readonly [name: string, pieces: readonly (string | Buffer)[]][] = [
    ['a request', [call]],
    ['a header with a mistake', [textHeader.replace('TCP4', 'TCP6'), call]],
    ['an endless one', ['PROXY UNKNOWN ', 'a'.repeat(200_000)]],
    ['one that announces too much', [Buffer.concat([binaryHeader.subarray(0, 14), Buffer.of(255, 255)])]],
    ['a half one', [textHeader.slice(0, 20)]],
    ['none', []],
  ];
  for (const [name, pieces] of cases) t.equal(await exchange(port, pieces), '', name);
  t.equal(upstream.requests.length, 0);
});

t.test('the header stands before TLS where the listener speaks it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-told-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const files = { cert: join(dir, 'own.pem'), key: join(dir, 'own-key.pem') };
  const renew = (): void => {
    const { certPem, keyPem } = testAuthority().issue();
    writeFileSync(files.cert, certPem);
    writeFileSync(files.key, keyPem);
  };
  renew();
  const { gateway, port, upstream } = await start(t, { proxy: { tls: files } });
  const call = async (): Promise<{ answer: string; serial: string }> => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.write(textHeader);
    const secured = tls.connect({ socket, servername: 'localhost', ca: testAuthority().certPem });
    await once(secured, 'secureConnect');
    const serial = secured.getPeerCertificate().serialNumber;
    secured.write(request(gateway.key, `http://127.0.0.1:${upstream.port}/x`));
    return { answer: Buffer.concat(await secured.toArray()).toString(), serial };
  };
  const first = await call();
  t.match(first.answer, /^HTTP\/1\.1 200 /);
  t.equal(await addressOf(gateway, first.answer), told);
  renew();
  t.ok(await gateway.reload());
  const second = await call();
  t.match(second.answer, /^HTTP\/1\.1 200 /);
  t.not(second.serial, first.serial, 'a reload shows a renewed certificate');
  t.equal(await exchange(port, [Buffer.of(0x16, 3, 1)]), '', 'a handshake without a header');
});

t.test('the control plane wants no header, and a reload does not change who does', async (t) => {
  const { gateway } = await start(t);
  t.match(await gateway.api('GET', '/readyz'), { status: 200 });
  writeFileSync(gateway.configFile, 'proxy: { proxy_protocol: false }\n');
  t.notOk(await gateway.reload());
});

/** haproxy in front of a port, with a header of this version; undefined where the machine has none. */
async function startBalancer(t: Test, port: number, send: string): Promise<string | undefined> {
  const listening = await freePort();
  const lines = [
    'defaults',
    '  mode tcp',
    '  timeout connect 5s',
    '  timeout client 30s',
    '  timeout server 30s',
    'frontend agents',
    `  bind 127.0.0.1:${listening}`,
    '  default_backend gateway',
    'backend gateway',
    // What it sends itself to see whether the gateway is there must do no harm.
    `  server one 127.0.0.1:${port} ${send} check inter 50ms`,
  ];
  return (await startHaproxy(t, lines, [listening])) ? `127.0.0.1:${listening}` : undefined;
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

for (const send of ['send-proxy', 'send-proxy-v2', 'send-proxy-v2-ssl-cn']) {
  t.test(`haproxy tells the address of its client by ${send}`, async (t) => {
    const upstream = await startUpstream(t);
    const gateway = await startTestGateway(t, { upstream, config: { proxy: { proxy_protocol: true } } });
    const balancer = await startBalancer(t, Number(new URL(gateway.proxyUrl).port), send);
    if (balancer === undefined || !needProgram(t, 'curl')) return;
    const proxy = gateway.proxyWithKey.replace(/@.*/, `@${balancer}`);
    const url = `https://api.test.example:${upstream.port}/x`;
    // Of all addresses that reach haproxy, one that is not its own.
    const from = ['--interface', '127.0.0.9'];
    for (const version of ['--http1.1', '--http2']) {
      const { stdout } = await run('curl', [
        '-si',
        version,
        ...from,
        '--cacert',
        gateway.caFile,
        '-x',
        proxy,
        url,
      ]);
      t.equal(await addressOf(gateway, stdout), '127.0.0.9');
    }
  });
}
