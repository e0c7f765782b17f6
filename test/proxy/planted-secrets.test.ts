import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startReceiver } from '../notify/receiver.ts';
import { adminSecret, startTestGateway } from '../support/gateway.ts';
import { startRedis, until } from '../support/redis.ts';
import { gitlabToken } from '../support/secrets.ts';
import { startUpstream } from '../support/upstream.ts';
import { echoMessages } from './matrix/frames.ts';
import { fields, type Lab } from './planted/entrances.ts';
import { filesIn, findPlanted, type Place } from './planted/search.ts';

/*
 * A secret in any field of any entrance is kept and shown nowhere: each field gets one of its own, which is then looked for in all that
 * was answered, stored, told and written. The calls are made once for each thing that may become of a call.
 */

/** Hundreds of calls, on machines that do other things too. */
t.setTimeout(300_000);

const ruleOf = (action: string) => [{ rule_id: 'all', priority: 1, match: {}, condition: {}, action }];
/** What becomes of the calls, and by which rules. */
const fates: readonly { readonly fate: string; readonly rules: readonly object[] }[] = [
  { fate: 'let out', rules: ruleOf('ALLOW') },
  { fate: 'held', rules: ruleOf('REQUIRE_APPROVAL') },
  { fate: 'an incident', rules: ruleOf('OPEN_INCIDENT') },
  { fate: 'judged by the posture', rules: [{ ...ruleOf('DENY')[0], match: { methods: ['NONE'] } }] },
];

async function plantAll(t: Test, dirs: string, stateUrl?: string): Promise<void> {
  const logDir = join(dirs, 'log');
  const receiver = await startReceiver(t);
  const upstream = await startUpstream(t, undefined, {
    onWebSocket: (socket) => void echoMessages(socket).catch(() => socket.destroy()),
  });
  const gateway = await startTestGateway(t, {
    upstream,
    config: {
      ...(stateUrl === undefined ? {} : { state: { url: stateUrl, dir: './data' } }),
      limits: { scan_timeout: '30s' },
      approvals: { ttl: '24h' },
      intercept: { passthrough: ['*.pass.test.example'] },
      log: { level: 'debug', file: join(logDir, 'daemon.log') },
      inbound: [{ prefix: 'crm', tenant: 'acme', upstream: `https://crm.test.example:${upstream.port}` }],
      notifications: [
        { name: 'all', type: 'webhook', url: receiver.url, allow_private: true, events: ['*'] },
      ],
    },
  });
  const peer = randomUUID();
  await gateway.mint({ default_agent_id: peer });
  const planted = new Map<string, string>();
  const answers: Place[] = [];
  let fate = '';
  let sending = '';
  const lab: Lab = {
    gateway,
    ca: readFileSync(gateway.caFile, 'utf8'),
    peer,
    authority: `api.test.example:${upstream.port}`,
    heard({ status, headers, body }) {
      const text = `${status} ${JSON.stringify(headers)}\n${body.toString('latin1' as 'utf8')}`;
      answers.push({ name: `the answer to ${sending}`, bytes: Buffer.from(text, 'latin1') });
    },
    plant(field, make = gitlabToken) {
      const text = make();
      planted.set(text, `${fate}, ${field}`);
      return text;
    },
  };
  for (const { fate: next, rules } of fates) {
    fate = next;
    t.equal((await gateway.apply(rules)).status, 200);
    for (const it of fields) {
      sending = it.field;

      await it.send(lab);
    }
  }
  t.ok(upstream.requests.length > fields.length / 4, 'calls have gone out');
  const seen = `control-${randomUUID()}`;
  const known = { method: 'GET', url: 'https://api.github.com/zen', agent_name: seen };
  t.equal((await gateway.api('POST', '/v1/scan', known)).status, 200);
  const admin = `Bearer ${adminSecret}`;
  const read = async (path: string): Promise<string> => {
    const answer = await fetch(new URL(path, gateway.controlUrl), { headers: { authorization: admin } });
    return answer.text();
  };
  const pending = JSON.parse(await read('/v1/approvals?status=pending&limit=3')).items;
  t.ok(pending.length > 0, 'calls were held');
  for (const { approval_id } of pending)
    await gateway.api('POST', `/v1/approvals/${approval_id}/decision`, { decision: 'denied' }, admin);
  await until('a trace of the last call', async () =>
    (await read('/v1/traces?limit=1')).includes('trace_id'),
  );
  await wait(1_500);
  const lists = [
    ...['traces', 'approvals', 'incidents', 'audit', 'agents', 'keys', 'policies', 'tools', 'usage'],
    ...['stats?interval=hour', 'mcp/servers', 'mcp-servers', 'notifications/failed', 'notifications'],
    ...['ndjson', 'csv', 'ocsf'].map((it) => `traces/export?format=${it}`),
  ];
  for (const list of lists) {
    const path = `/v1/${list}${list.includes('?') ? '&' : '?'}limit=1000`;
    answers.push({ name: `GET ${path}`, bytes: Buffer.from(await read(path)) });
  }
  await gateway.stop();
  const notices = receiver.received.map((it) => JSON.stringify(it));
  t.ok(notices.length > 0, 'notices were sent');
  const places = [
    ...answers,
    ...filesIn(gateway.dir, 'the file'),
    ...filesIn(logDir, 'the log'),
    { name: 'the notices', bytes: Buffer.from(notices.join('\n')) },
    ...(stateUrl === undefined ? [] : filesIn(join(dirs, 'redis'), 'the Redis file')),
  ];
  t.ok(planted.size >= fates.length * fields.length, 'every field has had its text');
  const shown = findPlanted(new Map([[seen, 'an ordinary name']]), places).join();
  t.match(shown, /traces\?limit.*format=csv.*(?:traces\.db|Redis)/, 'what is no secret is found there');
  t.same(findPlanted(planted, places), [], 'no planted text is kept or shown');
}

t.test('a secret in any field of any entrance is kept and shown nowhere, with embedded state', async (t) => {
  await plantAll(t, t.testdir({ log: {} }));
});

/** Its append-only file has every key and value that was ever written. */
t.test('a secret in any field of any entrance is kept and shown nowhere, with a Redis', async (t) => {
  const dirs = t.testdir({ log: {}, redis: {} });
  const redis = await startRedis(t, { dir: join(dirs, 'redis') });
  if (redis) await plantAll(t, dirs, `redis://${redis.host}:${redis.port}/0`);
});
