import { once } from 'node:events';
import net from 'node:net';
import type { Test } from 'tap';
import { basic } from '../../support/clients.ts';
import { type Lab, type Reply, uuid } from './lab.ts';
import { ask, connect, proxied, type Sent, tunnelTo } from './tunnel.ts';

const host = 'up.test.example';

/** Decisions 2 and 10: what the forward proxy refuses, row by row. */
export async function proxyErrors(t: Test, lab: Lab): Promise<void> {
  const { key, mint, admin } = await lab.tenant('proxied');

  await t.test('Errors: CONNECT answers for itself only what it can know', async (t) => {
    const { port } = new URL(lab.controlUrl);
    const { port: proxyPort } = new URL(lab.proxyUrl);
    const dead = await mint();
    await admin('DELETE', `/v1/keys/${dead.key_id}`);
    const cases: readonly [name: string, authority: string, as: string | undefined, status: number][] = [
      ['no port', host, basic(key), 400],
      ['no host', ':443', basic(key), 400],
      ['a port that is none', `${host}:99999`, basic(key), 400],
      ['a user name in it', `a@${host}:443`, basic(key), 400],
      ['no key', `${host}:443`, undefined, 407],
      ['an empty user and key', `${host}:443`, 'Basic Og==', 407],
      ['rubbish', `${host}:443`, 'Basic %%%', 407],
      ['a malformed key', `${host}:443`, basic('iv_live_rubbish'), 407],
      ['a revoked key', `${host}:443`, basic(dead.key), 407],
      ['the administration secret', `${host}:443`, basic(lab.adminSecret), 407],
      ['another scheme', `${host}:443`, `Digest ${key}`, 407],
      ['a private address', '10.0.0.1:443', basic(key), 403],
      ['a private address in decimal', '167772161:443', basic(key), 403],
      ['a private address in IPv6', '[::ffff:10.0.0.1]:443', basic(key), 403],
      ['a link-local address', '[fe80::1]:443', basic(key), 403],
      ['the metadata address', '169.254.169.254:80', basic(key), 403],
      ['its own control listener', `127.0.0.1:${port}`, basic(key), 403],
      ['its own proxy listener', `127.0.0.1:${proxyPort}`, basic(key), 403],
      ['a denied host', 'denied.test.example:443', basic(key), 403],
      ['a host that resolves to a private address', 'private.test.example:443', basic(key), 200],
      ['an upstream that is not there', 'closed.test.example:443', basic(key), 200],
      ['a good one', `${host}:443`, basic(key), 200],
    ];
    for (const [name, authority, as, status] of cases) {
      const answer = await connect(lab, authority, as);
      t.equal(answer.status, status, `${status}: ${name}`);
      if (status !== 200) t.match(answer.headers['proxy-status'], /^postern; error=/, `${name}: RFC 9209`);
      t.equal(
        answer.headers['proxy-authenticate'] !== undefined,
        status === 407,
        `${name}: Proxy-Authenticate on 407 only`,
      );
      if (status === 407) t.match(answer.headers['proxy-authenticate'], /^Basic\b/, `${name}: Basic`);
    }
  });

  await t.test('Errors: inside the tunnel, each row with its status, code and Proxy-Status', async (t) => {
    const away = await mint({ ip_allowlist: ['192.0.2.1'] });
    const [free, full] = [await lab.tenant('plan-free'), await lab.tenant('proxied-few')];
    while ((await full.scan()).status === 200);
    const larger = 'x'.repeat(256 * 1024 + 1);
    const unread = { headers: { 'transfer-encoding': 'chunked' }, body: larger };
    const at =
      (to: string, sent: Sent = {}, as = key) =>
      () =>
        proxied(lab, to, as, sent);
    const rows: readonly [
      name: string,
      ask: () => Promise<Reply>,
      status: number,
      code: string,
      why: RegExp,
    ][] = [
      [
        'another Host',
        at(host, { headers: { host: 'other.test.example' } }),
        421,
        'MISDIRECTED_REQUEST',
        /_error$/,
      ],
      [
        'another origin',
        at(host, { path: 'https://other.test.example/' }),
        421,
        'MISDIRECTED_REQUEST',
        /_error$/,
      ],
      ['Expect', at(host, { headers: { expect: 'cake' } }), 417, 'EXPECTATION_FAILED', /_error$/],
      [
        'a head of 70 KB',
        at(host, { headers: { a: 'x'.repeat(70_000) } }),
        431,
        'HEADERS_TOO_LARGE',
        /_error$/,
      ],
      ['201 fields', at(host, { headers: fields(201) }), 431, 'HEADERS_TOO_LARGE', /_error$/],
      [
        'a body over the plan',
        at(host, { method: 'POST', body: larger }, free.key),
        413,
        'PAYLOAD_TOO_LARGE',
        /_error$/,
      ],
      [
        'the same in chunks',
        at(host, { method: 'POST', ...unread }, free.key),
        413,
        'PAYLOAD_TOO_LARGE',
        /_error$/,
      ],
      ['another address', at(host, {}, away.key), 403, 'IP_NOT_ALLOWED', /_denied$/],
      ['the quota used up', at(host, {}, full.key), 429, 'QUOTA_EXCEEDED', /_denied$/],
      ['a private address', at('private.test.example'), 403, 'EGRESS_BLOCKED', /^destination_ip_prohibited$/],
      ['nobody listens', at('closed.test.example'), 502, 'UPSTREAM_UNREACHABLE', /^destination_unavailable$/],
      ['an unknown authority', at('untrusted.test.example'), 502, 'UPSTREAM_TLS', /^tls_certificate_error$/],
      ['no TLS, no HTTP', at('broken.test.example'), 502, 'UPSTREAM_TLS', /^tls_certificate_error$/],
      ['no HTTP inside TLS', at('garbled.test.example'), 502, 'UPSTREAM_PROTOCOL', /^http_protocol_error$/],
    ];
    for (const [name, send, status, code, why] of rows) {
      const reply = await send();
      t.equal(reply.status, status, `${status} ${code}: ${name}`);
      t.match(reply.headers.get('content-type'), /^application\/problem\+json/, `${name}: RFC 9457`);
      t.match(reply.body, { type: /^urn:/, title: /./, status, detail: /./, code }, `${name}: the problem`);
      t.match(reply.headers.get('proxy-status')?.replace('postern; error=', ''), why, `${name}: RFC 9209`);
      t.equal(
        reply.body.reason,
        status === 403 || status === 429 ? code : undefined,
        `${name}: reason on 403 and 429`,
      );
      t.equal(
        /^[1-9]\d*$/.test(reply.headers.get('retry-after') ?? ''),
        status === 429,
        `${name}: Retry-After on 429`,
      );
      if (status === 413)
        t.match(reply.body, { actual_bytes: larger.length, limit_bytes: 256 * 1024 }, `${name}: actual size`);
    }
  });

  await t.test('Errors: a tunnel carries no second tunnel', async (t) => {
    const socket = await tunnelTo(lab, host, key);
    socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    t.match(String(answer), /^HTTP\/1\.1 400 /);
  });

  await t.test('Errors: what goes wrong before it is judged says so in the headers, too', async (t) => {
    const reply = await proxied(lab, host, key, { headers: { host: 'other.test.example' } });
    t.equal(reply.headers.get('x-service-decision'), 'DENY');
    t.match(reply.headers.get('x-service-trace-id'), uuid);
    t.equal(reply.headers.get('x-service-reasons'), 'MISDIRECTED_REQUEST');
    const failed = await proxied(lab, 'closed.test.example', key);
    t.equal(failed.headers.get('x-service-decision'), 'ALLOW', 'what may go and cannot was allowed');
    const trace = await admin('GET', `/v1/traces/${failed.headers.get('x-service-trace-id')}`);
    t.match(trace, { status: 200, body: { decision: 'ALLOW' } });
  });

  await t.test('Errors: 503 GATEWAY_BUSY over the connections of an agent', async (t) => {
    const tenant = await lab.tenant('two-connections');
    const tunnels = [await tunnelTo(lab, host, tenant.key), await tunnelTo(lab, host, tenant.key)];
    const third = await connect(lab, `${host}:443`, basic(tenant.key));
    t.equal(third.status, 503, 'the third of two');
    t.match(third.headers, { 'retry-after': /^[1-9]\d*$/, 'proxy-status': /connection_limit_reached/ });
    t.equal((await connect(lab, `${host}:443`, basic(key))).status, 200, 'another agent has its own');
    for (const tunnel of tunnels) t.equal((await ask(tunnel, host)).status, 200, 'those that stand go on');
    for (const tunnel of tunnels) tunnel.destroy();
  });

  await t.test('Errors: a request that is no HTTP is 400 VALIDATION_FAILED on both listeners', async (t) => {
    for (const url of [lab.proxyUrl, lab.controlUrl]) {
      for (const text of [
        'GET\r\n\r\n',
        'GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
        '\x16\x03\x01',
      ]) {
        const answer = await rawAnswer(url, text);
        t.match(
          answer,
          /^HTTP\/1\.1 400 [\s\S]*"code":"VALIDATION_FAILED"[\s\S]*"errors":\[\{"path":"","message":"The request/,
          JSON.stringify(text.slice(0, 20)),
        );
      }
    }
  });
}

const fields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, '1']));

/** Everything that the server says until it closes. */
function rawAnswer(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () => socket.write(text, 'latin1'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.once('error', reject);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
  });
}
