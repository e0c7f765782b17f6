import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { acceptOf, newKey } from '../../src/wire/websocket/handshake.ts';
import { basic, openHttp2Tunnel, openSecureTunnel } from '../support/clients.ts';
import { startTestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startRawUpstream } from '../support/upstream.ts';

/* A client that leaves before its upstream has agreed to WebSocket: what was begun for it ends. */

const handshake = (target: string, more = ''): string =>
  [
    `GET ${target} HTTP/1.1`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${newKey()}`,
    more,
    '',
  ].join('\r\n');

/** An upstream that hears a handshake and never answers. */
async function startSilentLab(t: Test, { tls = true } = {}) {
  const open = new Set<Socket>();
  let heard = 0;
  const upstream = await startRawUpstream(
    t,
    (socket) => {
      socket.once('data', () => {
        heard += 1;
      });
      open.add(socket.resume());
      socket.once('close', () => open.delete(socket));
    },
    { tls },
  );
  const authority = `api.test.example:${upstream.port}`;
  const inbound = [{ prefix: 'chat', tenant: 'acme', upstream: `${tls ? 'https' : 'http'}://${authority}` }];
  const gateway = await startTestGateway(t, { upstream, config: { inbound } });
  const connect = (url: string): Socket => {
    const { hostname, port } = new URL(url);
    const socket = net.connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    return socket;
  };
  const hears = (count: number) => until('the upstream hears it', async () => heard === count);
  const letsGo = () => until('the upstream is let go', async () => open.size === 0);
  return { gateway, authority, connect, hears, letsGo };
}

t.test('on an inbound route of either listener', async (t) => {
  const { gateway, connect, hears, letsGo } = await startSilentLab(t);
  const authorization = `Host: x\r\nAuthorization: Bearer ${gateway.key}\r\n`;
  for (const [at, url] of [gateway.controlUrl, gateway.proxyUrl].entries()) {
    const socket = connect(url);
    socket.write(handshake('/inbound/chat', authorization));
    await hears(at + 1);
    const closed = once(socket.resume(), 'close');
    socket.end();
    await Promise.all([letsGo(), closed]);
  }
});

t.test('in absolute-form', async (t) => {
  const { gateway, authority, connect, hears, letsGo } = await startSilentLab(t, { tls: false });
  const socket = connect(gateway.proxyUrl);
  const fields = `Host: ${authority}\r\nProxy-Authorization: ${basic(gateway.key)}\r\n`;
  socket.write(handshake(`http://${authority}/`, fields));
  await hears(1);
  socket.end();
  await letsGo();
});

t.test('in a tunnel, over HTTP/1.1 and HTTP/2', async (t) => {
  const { gateway, authority, hears, letsGo } = await startSilentLab(t);
  const ca = readFileSync(gateway.caFile, 'utf8');
  const target = { proxyUrl: gateway.proxyUrl, authorization: basic(gateway.key), authority, ca };
  const socket = await openSecureTunnel(target);
  socket.write(handshake('/', `Host: ${authority}\r\n`));
  await hears(1);
  socket.end();
  await letsGo();

  const session = await openHttp2Tunnel(target);
  t.teardown(() => session.destroy());
  if (!session.remoteSettings?.enableConnectProtocol) await once(session, 'remoteSettings');
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/',
    'sec-websocket-version': '13',
  });
  stream.on('error', () => {});
  await hears(2);
  stream.close();
  await letsGo();
});

t.test('what it has sent before the answer comes is not lost', async (t) => {
  const sent = Promise.withResolvers<Buffer>();
  const upstream = await startRawUpstream(t, (socket) => {
    socket.once('data', (head: Buffer) => {
      const key = /sec-websocket-key: (\S+)/i.exec(head.toString())?.[1] ?? '';
      // Later, so that the client's frame is there first.
      setTimeout(() => {
        const fields = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(key)}`;
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\n`);
        socket.on('data', (chunk: Buffer) => sent.resolve(chunk));
      }, 100);
    });
  });
  const inbound = [{ prefix: 'chat', tenant: 'acme', upstream: `https://api.test.example:${upstream.port}` }];
  const gateway = await startTestGateway(t, { upstream, config: { inbound } });
  const { hostname, port } = new URL(gateway.controlUrl);
  const socket = net.connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  const frame = Buffer.concat([Buffer.of(0x81, 0x85, 0, 0, 0, 0), Buffer.from('hello')]);
  socket.write(handshake('/inbound/chat', `Host: x\r\nAuthorization: Bearer ${gateway.key}\r\n`));
  await once(socket, 'ready');
  for (const byte of frame) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const [opcode = 0, length = 0] = await sent.promise;
  t.same([opcode, length & 0x7f], [0x81, 5], 'the frame goes on');
});
