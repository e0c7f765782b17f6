import { readFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { basic, openSecureTunnel } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';
import { bodies, fields, lines } from './hostile/http1.ts';
import { plainHost, secureHost } from './hostile/input.ts';

/* Every door reads HTTP/1.1 with the same codec: what the tunnels refuse, both listeners refuse in the same words. */

interface Door {
  readonly name: string;
  readonly target: string;
  readonly host: string;
  /** The field that shows the key, with its line end. */
  readonly auth: string;
  /** Whether it answers as the control plane does: what the codec lets pass is then another matter. */
  readonly isApi?: true;
  open(): Promise<Socket> | Socket;
}

async function startDoors(t: Test, own: object = {}): Promise<readonly Door[]> {
  const secure = await startUpstream(t);
  const plain = await startUpstream(t, undefined, { tls: false });
  const patience = { header_timeout: '1s', body_timeout: '1s' };
  const gateway = await startTestGateway(t, {
    config: {
      limits: { ...patience, max_connections_per_agent: 10_000 },
      inbound: [{ prefix: 'bot', tenant: 'acme', upstream: `https://${secureHost}/base` }],
      upstream: {
        allow_private: ['127.0.0.0/8'],
        ca_files: [secure.caFile],
        resolve: [
          { host: plainHost, address: '127.0.0.1', port: plain.port },
          { host: secureHost, address: '127.0.0.1', port: secure.port },
        ],
      },
      ...own,
    },
  });
  const { proxyUrl, controlUrl, key } = gateway;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const to = (authority: string) => ({ proxyUrl, authorization: basic(key), authority });
  const connect = (url: string) => (): Socket => net.connect(Number(new URL(url).port), '127.0.0.1');
  const bearer = `Authorization: Bearer ${key}\r\n`;
  const inbound = { target: '/inbound/bot/hostile', host: 'localhost', auth: bearer };
  return [
    {
      ...{ name: 'a tunnel', target: '/hostile', host: secureHost, auth: '' },
      open: () => openSecureTunnel({ ...to(`${secureHost}:443`), ca }),
    },
    {
      ...{ name: 'absolute-form', target: `http://${plainHost}/hostile`, host: plainHost },
      auth: `Proxy-Authorization: ${basic(key)}\r\n`,
      open: connect(proxyUrl),
    },
    { name: '/inbound on the proxy', ...inbound, open: connect(proxyUrl) },
    { name: '/inbound on the control plane', ...inbound, open: connect(controlUrl) },
    {
      ...{ name: '/v1/scan', target: '/v1/scan', host: 'localhost', auth: bearer, isApi: true },
      open: connect(controlUrl),
    },
  ];
}

/** The first answer: status, whether it ends the connection, code and detail of its problem; `closed` where there is none. */
async function answerTo(door: Door, bytes: string): Promise<string> {
  const socket = await door.open();
  socket.on('error', () => socket.destroy());
  socket.write(Buffer.from(bytes, 'latin1'));
  let read = '';
  for await (const chunk of socket) {
    read = (read + (chunk as Buffer).toString('latin1')).replace(/^HTTP\/1\.1 100 .*?\r\n\r\n/s, '');
    const [, status, fields = '', body = ''] = /^HTTP\/1\.1 (\d+) (.*?)\r\n\r\n(.*)$/s.exec(read) ?? [];
    const length = Number(/^content-length: (\d+)/im.exec(fields)?.[1] ?? 0);
    if (status === undefined || body.length < length) continue;
    socket.destroy();
    const { code, detail } = JSON.parse(body.slice(0, length) || '{}');
    return `${status}${/^connection: close/im.test(fields) ? ', closing' : ''}: ${code}: ${detail}`;
  }
  return 'closed';
}

const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: evil.test.example\r\n\r\n';
type Case = readonly [name: string, bytes: (door: Door) => string];
const cases: readonly Case[] = [
  ...lines.map(
    ([name, request]): Case => [
      name,
      ({ target, host, auth }) =>
        request({ target, host: `Host: ${host}\r\n${auth}`, hostName: host }) + smuggled,
    ],
  ),
  ...fields.map(
    ([name, field]): Case => [
      name,
      ({ target, host, auth }) => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${auth}${field}\r\n\r\n`,
    ],
  ),
  ...bodies.map(
    ([name, rest]): Case => [
      name,
      ({ target, host, auth }) => `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${auth}${rest}`,
    ],
  ),
];

/** The codec takes these, and each door says in its own words that nothing stands there. */
const ofTheTarget = ['an asterisk for a GET', 'a target without a slash', 'an authority for a target'];
/** The codec takes these as well; they are wrong in a call, and a description of one is JSON by POST with a limit of its own. */
const ofTheCall = [
  ...['two content types', 'an agent id that is none', 'an agent of another tenant'],
  ...['a length over the limit', 'a body over the limit, in chunks'],
  ...['a coding that is not that of the body', 'a coding that nobody knows', 'a coding ten times'],
];

t.test('what a tunnel refuses, every door refuses in the same words', async (t) => {
  const [tunnel, ...others] = await startDoors(t);
  if (!tunnel) throw new Error('there is no tunnel');
  for (const [name, bytes] of cases) {
    const [wanted, ...found] = await Promise.all(
      [tunnel, ...others].map((door) => answerTo(door, bytes(door))),
    );
    for (const [i, door] of others.entries()) {
      const isOfDoor = ofTheTarget.includes(name) || (door.isApi && ofTheCall.includes(name));
      if (isOfDoor) t.match(found[i], /^4\d\d/, `${door.name}: ${name}`);
      else t.equal(found[i], wanted, `${door.name}: ${name}`);
    }
  }
});

t.test(
  'every door answers pipelined requests one after the other, up to the first that is malformed',
  async (t) => {
    for (const { name, target, host, auth, isApi, open } of await startDoors(t)) {
      const body = JSON.stringify({ method: 'GET', url: `https://${secureHost}/x` });
      const head = `Host: ${host}\r\n${auth}`;
      const good = isApi
        ? `POST ${target} HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`
        : `GET ${target} HTTP/1.1\r\n${head}\r\n`;
      const socket = await open();
      socket.write(`${good}${good}GET ${target} HTTP/1.1\r\n${head}X-A : b\r\n\r\n${good}`);
      let read = '';
      for await (const chunk of socket) read += (chunk as Buffer).toString('latin1');
      t.same(read.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400'], name);
    }
  },
);

t.test('the time for a body may be that of the tenant', async (t) => {
  const doors = await startDoors(t, {
    limits: { header_timeout: '100ms', body_timeout: '10m' },
    tenants: [{ id: 'acme', environments: ['production'], limits: { body_timeout: '100ms' } }],
  });
  for (const door of doors) {
    const half = `POST ${door.target} HTTP/1.1\r\nHost: ${door.host}\r\n${door.auth}Content-Length: 9\r\n\r\nab`;
    t.match(
      await answerTo(door, half),
      /^400, closing: VALIDATION_FAILED: .*did not arrive in time/,
      door.name,
    );
  }
});
