import t, { type Test } from 'tap';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { adminSecret, denyDeletes, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

const admin = `Bearer ${adminSecret}`;

interface Setting {
  readonly gateway: TestGateway;
  readonly receiver: Receiver;
}

/** A gateway with a channel of acme, one of beta and one of the daemon, all at the same destination. */
async function set(t: Test): Promise<Setting> {
  const receiver = await startReceiver(t);
  const channel = (name: string, tenant: string | null, events: readonly string[]) => ({
    ...{
      name,
      type: 'webhook',
      url: `${receiver.url}?token=in-the-url`,
      allow_private: true,
      tenant,
      events,
    },
    headers: { 'X-Token': 'in-a-header' },
  });
  const gateway = await startTestGateway(t, {
    config: {
      tenants: [{ id: 'acme', environments: ['production'] }, { id: 'beta' }],
      notifications: [
        channel('own', 'acme', ['decision.deny']),
        channel('theirs', 'beta', []),
        channel('everybody', null, ['feed.failed']),
      ],
    },
  });
  await gateway.apply([denyDeletes]);
  return { gateway, receiver };
}

const deny = ({ gateway }: Setting) =>
  gateway.api('POST', '/v1/scan', { method: 'DELETE', url: 'https://api.github.com/repos/acme/app' });

t.test('channels are listed with how they do, to those whose they are', async (t) => {
  const setting = await set(t);
  const { gateway, receiver } = setting;
  await deny(setting);
  await until('a delivery', async () => receiver.taken().length === 1);
  const list = async (query = '', authorization?: string) =>
    (await gateway.api('GET', `/v1/notifications${query}`, undefined, authorization)).body;
  await until('a count of it', async () => (await list()).items[0].delivered === 1);
  const own = await list();
  t.match(own, {
    items: [
      {
        ...{ name: 'own', type: 'webhook', tenant_id: 'acme', circuit: 'closed', waiting: 0, failed: 0 },
        ...{ delivered: 1, failures: 0, last_error: null, paused_until: null, last_delivered: /^\d{4}-/ },
      },
    ],
  });
  t.equal(own.items.length, 1);
  const names = async (query: string) =>
    (await list(query, admin)).items.map((it: { name: string }) => it.name);
  t.same(await names(''), ['own', 'theirs', 'everybody']);
  t.same(await names('?tenant_id=beta'), ['theirs']);
  t.equal((await gateway.api('GET', '/v1/notifications?tenant_id=beta')).status, 403);
  t.notMatch(JSON.stringify(await list('', admin)), /in-the-url|in-a-header|127\.0\.0\.1/);
});

t.test('a test is sent at once, and says what came of it', async (t) => {
  const { gateway, receiver } = await set(t);
  const { key } = await gateway.mint({ permissions: ['admin'] });
  const test = (name: string, authorization = `Bearer ${key}`) =>
    gateway.api('POST', '/v1/notifications/test', { name }, authorization);
  t.match(await test('own'), { status: 200, body: { name: 'own', delivered: true, reason: null } });
  t.match(receiver.received, [{ body: { data: { test: true, channel: 'own' } } }]);
  receiver.answer(() => 503);
  const failed = await test('own');
  t.match(failed, { status: 200, body: { delivered: false, reason: /503/ } });
  t.notMatch(failed.body.reason, /in-the-url/);
  for (const name of ['theirs', 'everybody', 'nobody'])
    t.match(await test(name), { status: 404, body: { code: 'NOT_FOUND' } }, name);
  for (const name of ['theirs', 'everybody']) t.equal((await test(name, admin)).status, 200, name);
  t.equal((await gateway.api('POST', '/v1/notifications/test', { name: 'own' })).status, 403);
  t.equal((await test('', admin)).status, 400);
});

t.test('what was refused is listed, and replayed one by one or all together', async (t) => {
  const setting = await set(t);
  const { gateway, receiver } = setting;
  receiver.answer(() => 410);
  const traces: string[] = [];
  for (let at = 0; at < 3; at += 1) traces.push((await deny(setting)).body.trace_id);
  const failed = async (query = '', authorization?: string) =>
    (await gateway.api('GET', `/v1/notifications/failed${query}`, undefined, authorization)).body;
  await until('three that failed', async () => (await failed()).items.length === 3);
  const { items } = await failed();
  t.same(items.map((it: { message_id: string }) => it.message_id).sort(), [...traces].sort());
  t.match(items[0], { channel: 'own', tenant_id: 'acme', type: 'decision.deny', reason: /410/, attempts: 1 });
  t.match(items[0], { count: 1, summary: /^Denied: support-bot/, failed_at: /^\d{4}-/ });
  const page = await failed('?limit=2');
  t.equal(page.items.length, 2);
  t.equal((await failed(`?limit=2&cursor=${page.next_cursor}`)).items.length, 1);
  t.equal((await failed('?channel=theirs')).items.length, 0);
  t.equal((await failed('', admin)).items.length, 3);
  t.equal((await failed('?tenant_id=beta', admin)).items.length, 0);
  t.match(await failed('?cursor=x'), { code: 'VALIDATION_FAILED' });

  receiver.answer(() => 200);
  const replay = (path: string, body: object, authorization = admin) =>
    gateway.api('POST', `/v1/notifications/${path}`, body, authorization);
  const [{ id }] = items;
  t.match(await replay(`failed/${id}/replay`, {}), { status: 200, body: { replayed: 1 } });
  await until('that one', async () => receiver.taken().length === 1);
  t.equal(receiver.taken()[0]?.id, items[0].message_id, 'under the same id');
  t.match(await replay(`failed/${id}/replay`, {}), { status: 404 }, 'it has not failed any more');
  t.match(await replay('failed/x/replay', {}), { status: 404 });
  t.match(await replay(`failed/${items[1].id}/replay`, { tenant_id: 'beta' }), { status: 404 });
  t.match(await replay(`failed/${items[1].id}/replay`, {}, `Bearer ${gateway.key}`), { status: 403 });
  t.match(await replay('replay', { name: 'own', tenant_id: 'beta' }), { status: 404 });
  t.match(await replay('replay', { name: 'own' }), { status: 200, body: { replayed: 2 } });
  await until('all of them', async () => receiver.taken().length === 3);
  t.same((await failed()).items, []);
});
