import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { toPretty } from '../../../src/core/pretty-log.ts';
import { basic, openSecureTunnel, send } from '../../support/clients.ts';
import { denyDeletes, startTestGateway } from '../../support/gateway.ts';
import { awsKeyId } from '../../support/secrets.ts';
import { startUpstream } from '../../support/upstream.ts';

type Line = Record<string, unknown>;

t.test('each call and request leaves a line, without what may be a secret', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.statusCode = 418;
    response.end('short and stout');
  });
  const log = { level: 'info', file: './access.log', access: true };
  const gateway = await startTestGateway(t, { upstream, config: { log } });
  await gateway.apply([denyDeletes]);
  const authority = `api.test.example:${upstream.port}`;
  const ca = readFileSync(gateway.caFile, 'utf8');
  const { proxyUrl } = gateway;
  const tunnel = await openSecureTunnel({ proxyUrl, authorization: basic(gateway.key), authority, ca });
  const secret = awsKeyId();
  const headers = { host: authority, 'x-token': secret };
  await send(tunnel, { method: 'GET', path: `/first?token=${secret}`, headers });
  await send(tunnel, { method: 'DELETE', path: '/second', headers: { host: authority } });
  await gateway.api('GET', '/v1/keys?limit=77');
  await gateway.api('GET', `/v1/keys/${secret}?limit=78`);
  await gateway.api('GET', `/${secret}`);
  await gateway.stop();
  const text = readFileSync(join(gateway.dir, 'access.log'), 'utf8');
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((it): Line => JSON.parse(it));
  const of = (message: string) => lines.filter((it) => it['msg'] === message);
  const [first, second] = of('call');
  const shared = { tenant_id: 'acme', agent_id: gateway.agentId, key_id: gateway.keyId, entrance: 'forward' };
  t.match(first, { ...shared, method: 'GET', host: authority, client_address: '127.0.0.1' });
  t.match(first, { trace_id: /^[0-9a-f-]{36}$/, ms: Number });
  t.match(second, { ...shared, decision: 'DENY', status: 403, reasons: ['POLICY_DENY'], band: 'LOW' });
  t.equal(of('call').length, 2);
  const routes = of('request').map((it) => [it['method'], it['route'], it['status']]);
  t.strictSame(routes.slice(-3), [
    ['GET', '/v1/keys', 200],
    ['GET', '/v1/keys/:key_id', 404],
    ['OTHER', 'none', 404],
  ]);
  for (const it of [secret, gateway.key, gateway.adminSecret, 'first', 'second', 'limit=', 'token'])
    t.notOk(text.includes(it), 'no path, query, header or key');
});

t.test('a call that goes out has the status of its upstream; nobody asks, nobody logs', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.statusCode = 418;
    response.end('short and stout');
  });
  for (const access of [true, false]) {
    const log = { level: 'info', file: './access.log', access };
    const gateway = await startTestGateway(t, { upstream, config: { log } });
    const authority = `api.test.example:${upstream.port}`;
    const ca = readFileSync(gateway.caFile, 'utf8');
    const { proxyUrl } = gateway;
    const tunnel = await openSecureTunnel({ proxyUrl, authorization: basic(gateway.key), authority, ca });
    t.equal((await send(tunnel, { path: '/', headers: { host: authority } })).status, 418);
    await gateway.stop();
    const text = readFileSync(join(gateway.dir, 'access.log'), 'utf8');
    const call = text.split('\n').find((it) => it.includes('"msg":"call"'));
    if (access) t.match(JSON.parse(call ?? ''), { decision: 'ALLOW', status: 418 });
    else t.equal(call, undefined);
  }
});

t.test('at a terminal the log is text', async (t) => {
  const line = JSON.stringify({
    level: 40,
    time: '2026-11-23T10:11:12.345Z',
    pid: 1,
    feed: 'urlhaus',
    note: 'two words \u202e\u001b[2J\n',
    err: { type: 'Error', stack: '    at a (b.ts:1:2)\n    at c (d.ts:3:4)' },
    msg: 'a threat feed\u009b has a problem',
  });
  t.equal(
    toPretty(line, false),
    '10:11:12.345 WARN  a threat feed\\u{9b} has a problem feed=urlhaus ' +
      'note="two words \\u{202e}\\u001b[2J\\n" err={"type":"Error"}\n    at a (b.ts:1:2)\n    at c (d.ts:3:4)\n',
    'and nothing in it steers the terminal',
  );
  t.match(toPretty(line, true), '\u001b[33mWARN \u001b[0m');
});
