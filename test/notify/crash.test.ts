import t, { type Test } from 'tap';
import { startChild } from '../state/child.ts';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, denyDeletes, writeTestConfig } from '../support/gateway.ts';
import { startRedis, until } from '../support/redis.ts';
import { entry } from './desk.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const rounds = 2;

/** What the process has said that it has recorded. */
const recordedBy = (lines: readonly string[]): string[] =>
  lines.filter((it) => it !== 'ready').map((it) => it.split(' ')[1] ?? '');

const toldIds = (receiver: Receiver): Set<string> =>
  new Set(receiver.taken().flatMap(({ body }) => [body.data.trace_id, body.data.key_id]));

async function allAreTold(t: Test, receiver: Receiver, recorded: readonly string[]): Promise<void> {
  const lacking = (): string[] => {
    const told = toldIds(receiver);
    return recorded.filter((it) => !told.has(it));
  };
  // Messages that a killed process was about to send come back when its lease is over.
  for (let waits = 0; waits < 3 && lacking().length > 0; waits += 1)
    await until('all notices', async () => lacking().length === 0).catch(() => undefined);
  t.same(lacking(), [], `all ${recorded.length} are told`);
}

/** Kills processes that tell people of things again and again; a destination fails now and then as well. */
async function killAndCount(t: Test, stateUrl: string, slots: readonly string[]): Promise<void> {
  const receiver = await startReceiver(t);
  receiver.answer((nth) => (nth % 5 === 0 ? 503 : 200));
  const dir = t.testdir();
  const start = (slot: string) =>
    startChild(t, '../../notify/children/teller.ts', dir, { args: [stateUrl, receiver.url, slot] });
  const recorded: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const children = slots.map(start);
    for (const child of children) {
      await child.line((it) => it === 'ready');
      await until('some calls', async () => child.lines().length > 25 + round * 10);
    }
    for (const child of children) {
      await child.kill();
      recorded.push(...recordedBy(child.lines()));
    }
  }
  // One that comes after them tells the rest, and records no end of its own.
  const last = slots.map(start);
  for (const child of last) await child.line((it) => it === 'ready');
  await allAreTold(t, receiver, recorded);
  for (const child of last) await child.kill();
  const perMessage = Map.groupBy(receiver.taken(), (it) => it.id);
  const twice = [...perMessage.values()].filter((it) => it.length > 1).length;
  // Of each process some are on their way when it is killed.
  t.ok(twice <= slots.length * rounds * 4, `${twice} of ${perMessage.size} were sent again after a kill`);
}

t.test('nothing is lost when the process is killed, on the embedded state', (t) =>
  killAndCount(t, 'embedded:state', ['1']),
);

t.test('nothing is lost when processes are killed, on Redis', async (t) => {
  const redis = await startRedis(t);
  if (redis) await killAndCount(t, `redis://${redis.host}:${redis.port}/0?prefix=p:`, ['1', '2']);
});

t.test('a daemon that is killed behind its answers tells of them when it is back', async (t) => {
  const receiver = await startReceiver(t);
  const { dir, configFile } = writeTestConfig(t, {
    config: { notifications: [entry('hook', receiver.url, { events: ['decision.deny', 'key.created'] })] },
    policyFiles: { 'deny.yaml': `name: deny\nrules: [${JSON.stringify(denyDeletes)}]\n` },
  });
  const start = () => startDaemon(t, dir, ['--config', configFile]);
  const first = await start();
  const api = apiClient(first.controlUrl);
  const admin = `Bearer ${adminSecret}`;
  const mint = { tenant_id: 'acme', name: 'test', default_agent_id: agentId };
  const { key, key_id: keyId } = (await api('POST', '/v1/keys', mint, admin)).body;
  const call = { method: 'DELETE', url: 'https://api.github.com/repos/acme/app' };
  const calls = Array.from({ length: 20 }, () => api('POST', '/v1/scan', call, `Bearer ${key}`));
  const recorded = (await Promise.all(calls)).map(({ body }) => body.trace_id);
  await first.end('SIGKILL');
  await start();
  await allAreTold(t, receiver, [...recorded, keyId]);
});
