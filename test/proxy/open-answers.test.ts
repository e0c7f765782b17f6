import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { parse, stringify } from 'yaml';
import { basic, openHttp2Tunnel, openSecureTunnel } from '../support/clients.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';

/* Answers that go on for hours, with a client that says nothing: they end with what has let them in. */

const inbound = [{ prefix: 'bot', tenant: 'acme', upstream: 'https://api.test.example/base' }];

async function startLab(t: Test, config: Readonly<Record<string, unknown>> = {}) {
  let open = 0;
  const upstream = await startUpstream(t, (_, response) => {
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: hello\n\n');
  });
  const gateway = await startTestGateway(t, { upstream, config: { inbound, ...config } });
  const ca = readFileSync(gateway.caFile, 'utf8');
  const authority = `api.test.example:${upstream.port}`;
  const target = (key?: string) => ({
    ...{ proxyUrl: gateway.proxyUrl, authority, ca },
    ...(key === undefined ? {} : { authorization: basic(key) }),
  });
  /** An answer that has begun, by each way; without a key where there is none. */
  const ways = {
    async 'HTTP/1.1 in a tunnel'(key?: string) {
      const socket = await openSecureTunnel(target(key));
      socket.write(`GET /events HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      return begun(t, socket);
    },
    async 'HTTP/2 in a tunnel'(key?: string) {
      const session = await openHttp2Tunnel(target(key));
      t.teardown(() => session.destroy());
      return begun(t, session.request({ ':path': '/events' }).end());
    },
    async 'an inbound route'(key?: string) {
      const headers = { authorization: `Bearer ${key}` };
      const asked = http.request(new URL('/inbound/bot/events', gateway.controlUrl), {
        headers,
        agent: false,
      });
      asked.end();
      const [answer] = (await once(asked, 'response')) as [http.IncomingMessage];
      return begun(t, answer);
    },
  };
  return { gateway, upstream, ways, open: () => open };
}

/** Something has come, and nothing more is asked for. */
async function begun(
  t: Test,
  stream: Readable,
): Promise<{ readonly ended: Promise<void>; isOpen(): boolean }> {
  t.teardown(() => void stream.destroy());
  const ended = new Promise<void>((resolve) => {
    stream.on('error', () => {}).once('close', resolve);
  });
  await once(stream, 'data');
  return { ended, isOpen: () => !stream.destroyed };
}

const asAdmin = (gateway: TestGateway, method: string, path: string, body?: unknown) =>
  gateway.api(method, path, body, `Bearer ${gateway.adminSecret}`);

t.test('a silent answer ends with the key of its call, whichever way it goes', async (t) => {
  const { gateway, ways, open } = await startLab(t);
  for (const [name, begin] of Object.entries(ways)) {
    const stays = await begin(gateway.key);
    const { key, key_id: keyId } = await gateway.mint();
    const { ended } = await begin(key);
    await asAdmin(gateway, 'DELETE', `/v1/keys/${keyId}`);
    await ended;
    t.ok(stays.isOpen(), `${name}: that of another key stays`);
  }
  await until('the upstream is let go as well', async () => open() === 3);
});

t.test('so it does with the address and the agent of its call', async (t) => {
  const { gateway, ways } = await startLab(t);
  const begin = ways['HTTP/1.1 in a tunnel'];
  const { key, key_id: keyId } = await gateway.mint();
  const moved = await begin(key);
  const stays = await begin(gateway.key);
  await asAdmin(gateway, 'PATCH', `/v1/keys/${keyId}`, { ip_allowlist: ['198.51.100.0/24'] });
  await moved.ended;
  t.ok(stays.isOpen());
  await asAdmin(gateway, 'POST', `/v1/agents/${gateway.agentId}/suspend`, {});
  await stays.ended;
  await asAdmin(gateway, 'POST', `/v1/agents/${gateway.agentId}/reactivate`, {});
  const again = await begin(gateway.key);
  const rounds = await begin(gateway.key);
  t.ok(again.isOpen() && rounds.isOpen(), 'what was so before says nothing of what is opened now');
});

t.test('one that was opened without a key ends when calls need one', async (t) => {
  const { gateway, ways } = await startLab(t, { proxy: { require_auth: false } });
  const keyless = await ways['HTTP/1.1 in a tunnel']();
  const stays = await ways['HTTP/1.1 in a tunnel'](gateway.key);
  const written = parse(readFileSync(gateway.configFile, 'utf8'));
  writeFileSync(
    gateway.configFile,
    stringify({ ...written, proxy: { ...written.proxy, require_auth: true } }),
  );
  t.ok(await gateway.reload());
  await keyless.ended;
  t.ok(stays.isOpen());
});
