// What a call costs on Redis (a server of its own on a free port): commands, bytes and CPU of this process and of Redis, by how many are admitted
// at once; each is admitted and recorded. "Commands" are what this process sends, "within" what scripts run. `node bench/redis.ts [calls]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { newId, newTraceId } from '../src/core/ids.ts';
import { ownName } from '../src/core/safe-name.ts';
import { Journal } from '../src/state/journal.ts';
import { openRedisStore } from '../src/state/redis/store.ts';
import { liveKey } from '../src/state/rules/live-key.ts';
import type { AdmitRequest, RecordedCall, Store, TenantTerms } from '../src/state/store.ts';
import { withTeardown } from './with-teardown.ts';

const calls = Number(process.argv[2] ?? 20_000);
const rounds = 5;
const host = '127.0.0.1';
const tenantId = 'bench';
const agentId = newId();
const keyId = newId();
const keyHash = 'a'.repeat(64);
const line = JSON.stringify({ trace_id: newId(), explanation: 'x'.repeat(630) });
const unlimited: TenantTerms = {
  scansPerMonth: null,
  scansPerMinute: null,
  burst: null,
  perKeyScansPerMinute: null,
  overage: false,
};

await withTeardown(async (bench) => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  bench.teardown(() => rmSync(dir, { recursive: true }));
  const port = 12_000 + Math.floor(Math.random() * 9_000);
  const args = ['--bind', host, '--port', `${port}`, '--dir', dir, '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  bench.teardown(async () => {
    server.kill();
    if (server.exitCode === null) await once(server, 'exit');
  });
  const admin = new Redis({ host, port });
  bench.teardown(() => admin.disconnect());
  // It is on its way up; the client tries again.
  admin.on('error', () => undefined);
  await new Promise<void>((ready) => admin.once('ready', ready));
  const store = await openRedisStore({
    cluster: false,
    tls: false,
    nodes: [{ host, port }],
    username: null,
    password: null,
    database: 0,
    timeoutMs: 10_000,
    ca: undefined,
    prefix: 'p:',
    log: { warn: () => undefined },
  });
  bench.teardown(() => store.close());
  await addKey(store);
  for (const atOnce of [1, 8, 32]) {
    const costs: Record<string, number>[] = [];
    for (let round = 0; round < rounds; round += 1) costs.push(await measure(store, admin, dir, atOnce));
    // The least of each: the noise of a shared machine only adds.
    const columns = Object.keys(costs[0] ?? {}).map((name) => {
      const least = Math.min(...costs.map((it) => it[name] ?? Number.POSITIVE_INFINITY));
      return `${name} ${least.toFixed(least < 10 ? 2 : 0)}`;
    });
    console.log(`${String(atOnce).padStart(2)} at once, a call: ${columns.join(', ')}`);
  }
});

async function addKey(store: Store): Promise<void> {
  const createdAtMs = Date.now();
  const envName = 'production';
  await store.ensureAgent({
    agentId,
    tenantId,
    envName,
    name: 'bench',
    runtimeType: null,
    status: 'active',
    createdAtMs,
  });
  const fields = { keyId, hash: keyHash, prefix: 'iv_live_0abc', tenantId, envName, agentId };
  const key = liveKey({ ...fields, name: 'bench', permissions: ['scan'], createdAtMs });
  const event = {
    tenantId,
    kind: 'key.created',
    operator: 'bench',
    subject: keyId,
    atMs: createdAtMs,
    details: {},
  };
  await store.addKey(key, event);
}

async function measure(
  store: Store,
  admin: Redis,
  dir: string,
  atOnce: number,
): Promise<Record<string, number>> {
  const journal = new Journal({
    dir: mkdtempSync(join(dir, 'journal-')),
    ship: store.recordCalls,
    onError: (error) => console.error(error),
  });
  await admin.config('RESETSTAT');
  const [ownBefore, redisBefore] = [cpuUs(), await cpuOfRedisUs(admin)];
  let left = calls;
  const callOften = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const admission = await store.admit(request());
      if (!admission.ok) throw new Error(admission.detail);
      await journal.append(recorded());
    }
  };
  await Promise.all(Array.from({ length: atOnce }, callOften));
  await journal.flush();
  const ownUs = cpuUs() - ownBefore;
  const redisUs = (await cpuOfRedisUs(admin)) - redisBefore;
  const [commandStats, stats] = [await admin.info('commandstats'), await admin.info('stats')];
  await journal.close();
  const counts = [...commandStats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)];
  const sum = (isCounted: (name: string) => boolean): number =>
    counts.reduce((all, [, name = '', count]) => (isCounted(name) ? all + Number(count) : all), 0) / calls;
  const isScript = (name: string): boolean => name === 'evalsha' || name === 'eval';
  const bytes = (way: string): number =>
    Number(new RegExp(`^total_net_${way}_bytes:(\\d+)`, 'm').exec(stats)?.[1]) / calls;
  return {
    commands: sum(isScript),
    within: sum((name) => !isScript(name) && name !== 'info' && !name.startsWith('config')),
    'bytes sent': bytes('input'),
    'bytes answered': bytes('output'),
    'own us': ownUs / calls,
    'us of Redis': redisUs / calls,
  };
}

function request(): AdmitRequest {
  return {
    keyHash,
    nowMs: Date.now(),
    agentId: undefined,
    envName: undefined,
    clientAddress: '192.0.2.1',
    destination: 'api.example.com',
    toolName: ownName('http'),
    verb: 'WRITE',
    counts: 'call',
    termsOf: () => unlimited,
  };
}

function recorded(): RecordedCall {
  const atMs = Date.now();
  const traceId = newTraceId(atMs);
  return {
    ...{ traceId, tenantId, agentId, atMs, keyId, decision: 'ALLOW', outcome: 'call' },
    destination: ownName('api.example.com'),
    line: ownName(line),
  };
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function cpuOfRedisUs(admin: Redis): Promise<number> {
  const text = await admin.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
