// What looking back costs with a million traces, on the embedded state and on Redis (a server of its own on a free port): the first page, a full
// search for what is rare, paging far back, exports through a daemon with its memory, and retention of half of them while others call.
// `node bench/activity.ts [traces] [a second] [embedded|redis]`
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { stringify } from 'yaml';
import { newId, newTraceId } from '../src/core/ids.ts';
import { toLine } from '../src/state/journal/line.ts';
import { openStore, type StateAddress } from '../src/state/open.ts';
import type { RecordedCall, Store, TraceFilter } from '../src/state/store.ts';
import { recordOf } from './trace-record.ts';

const [traces = 1_000_000, perSecond = 1_000] = process.argv.slice(2, 4).map(Number);
const driver = process.argv[4];
const perBatch = Math.max(1, Math.floor(perSecond / 4));
const tenantId = 'bench';
const adminSecret = newId();
const hourMs = 3_600_000;
const spanMs = (traces / perSecond) * 1_000;
const firstMs = Date.now() - hourMs - spanMs;
const agentIds = Array.from({ length: 40 }, newId);
const keyId = newId();
const tools = ['github', 'slack', 'openai', 'stripe', 'aws_s3', 'jira', 'notion', 'postgres'];
const rareAt = new Set([0, Math.floor(traces / 3), Math.floor(traces / 2), traces - 1]);

function traceOf(at: number): RecordedCall {
  const agent = at % agentIds.length;
  const tool = tools[at % tools.length] ?? '';
  const decision = at % 50 === 0 ? 'DENY' : at % 20 === 0 ? 'SANITIZE' : 'ALLOW';
  const ofDecision = decision === 'ALLOW' ? ['POLICY_ALLOW'] : ['SECRETS', 'PII'];
  return recordOf({
    ...{ at, tenantId, agent, agentId: agentIds[agent] ?? '', keyId, tool, decision },
    atMs: firstMs + Math.floor((at * 1_000) / perSecond),
    more: {
      runtime_type: 'langgraph',
      operation: `list_items_${at % 12}`,
      category: 'data',
      risk_band: at % 50 === 0 ? 'HIGH' : 'LOW',
      reason_codes: rareAt.has(at) ? ['MASS_ACTION'] : ofDecision,
      matched_rules: [
        { policy_id: keyId, policy_name: 'baseline', version: 3, rule_id: 'r1', action: decision },
      ],
      policy_id: keyId,
      policy_name: 'baseline',
      rule_id: 'r1',
    },
  });
}

const said: string[] = [];
function say(what: string, figure: string): void {
  const text = `${what.padEnd(44)} ${figure}`;
  said.push(text);
  console.log(text);
}
/** What this process has worked, with all its threads: on a machine that others use too it says more than the time. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const ms = (since: number): string => `${(performance.now() - since).toFixed(0)} ms`;
const mb = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

async function fill(store: Store): Promise<void> {
  const began = performance.now();
  let storing = 0;
  for (let at = 0; at < traces; at += perBatch) {
    const calls = Array.from({ length: Math.min(perBatch, traces - at) }, (_, nth) => traceOf(at + nth));
    const lines = new TextEncoder().encode(calls.map(toLine).join(''));
    const start = performance.now();
    await store.recordCalls({ lines, mayRepeat: false });
    storing += performance.now() - start;
  }
  say('write', `${ms(began)}, of which storing ${((storing * 1_000) / traces).toFixed(1)} us a trace`);
}

async function walk(store: Store, filter: TraceFilter, limit: number, pagesMax = Number.POSITIVE_INFINITY) {
  let cursor: string | undefined;
  let [pages, found, slowest] = [0, 0, 0];
  do {
    const began = performance.now();
    const page = await store.listTraces(tenantId, filter, { limit, cursor });
    slowest = Math.max(slowest, performance.now() - began);
    pages += 1;
    found += page.items.length;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && pages < pagesMax);
  return { pages, found, slowest, cursor };
}

async function look(store: Store): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 30; round += 1) {
    const began = performance.now();
    await store.listTraces(tenantId, {}, { limit: 100, cursor: undefined });
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  say('first page of 100', `median ${times[15]?.toFixed(1)} ms, slowest ${times.at(-1)?.toFixed(1)} ms`);
  for (const [name, filter] of [
    ['a rare reason, all of it', { reason: 'MASS_ACTION' }],
    ['a rare text, all of it', { text: 'Mass_Action' }],
    ['a tool of one in eight, 10 pages of 100', { toolName: 'stripe' }],
  ] as const) {
    const began = performance.now();
    const worked = cpuMs();
    const { pages, found, slowest } = await walk(store, filter, 100, name.includes('10') ? 10 : undefined);
    const mean = (performance.now() - began) / pages;
    say(
      name,
      `${ms(began)}, CPU ${(cpuMs() - worked).toFixed(0)} ms, ${found} found, ${pages} pages of ${mean.toFixed(0)} ms, slowest ${slowest.toFixed(0)}`,
    );
  }
  const began = performance.now();
  const worked = cpuMs();
  const deep = await walk(store, {}, 1_000, Math.floor(traces / 2_000));
  say(
    'half of all, 1,000 a page',
    `${ms(began)}, CPU ${(cpuMs() - worked).toFixed(0)} ms, ${deep.pages} pages, slowest ${deep.slowest.toFixed(0)} ms`,
  );
  const counted = performance.now();
  const buckets = await store.callStats(tenantId, 'minute', firstMs - 60_000, Date.now());
  const sum = buckets.reduce(
    (all, { counts }) => all + Object.values(counts.decision).reduce((a, b) => a + b),
    0,
  );
  say('counts by minute', `${ms(counted)}, ${buckets.length} buckets, ${sum} calls`);
}

/** Of the process, from the kernel. */
function memoryOf(pid: number): { nowBytes: number; peakBytes: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
  return { nowBytes: of('VmRSS'), peakBytes: of('VmHWM') };
}

async function exportAll(dir: string, url: string): Promise<void> {
  const configFile = join(dir, 'postern.yaml');
  const config = {
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0', admin_secret: adminSecret },
    state: { url, timeout: '10s' },
    tenants: [{ id: tenantId, plan: 'enterprise' }],
    log: { level: 'silent' },
  };
  writeFileSync(configFile, stringify(config));
  const bin = resolve(import.meta.dirname, '../bin/postern');
  const daemon = spawn(process.execPath, [bin, 'serve', '--json', '--config', configFile], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const { control, pid } = await readyLine(daemon);
    const ask = (path: string) =>
      fetch(new URL(path, control), { headers: { authorization: `Bearer ${adminSecret}` } });
    await (await ask('/v1/traces?limit=1000')).text();
    for (const format of ['ndjson', 'csv', 'ocsf']) {
      const before = memoryOf(pid);
      const began = performance.now();
      const response = await ask(`/v1/traces/export?format=${format}`);
      let [bytes, lines, peak] = [0, 0, 0];
      for await (const chunk of response.body ?? []) {
        bytes += chunk.length;
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
        if (bytes % 64 < 2) peak = Math.max(peak, memoryOf(pid).nowBytes);
      }
      const seconds = (performance.now() - began) / 1_000;
      peak = Math.max(peak, memoryOf(pid).nowBytes);
      say(
        `export ${format}`,
        `${seconds.toFixed(1)} s, ${lines} lines, ${mb(bytes)}, ${(bytes / 1024 / 1024 / seconds).toFixed(0)} MB/s, RSS ${mb(before.nowBytes)} -> ${mb(peak)}`,
      );
    }
  } finally {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
  }
}

async function readyLine(daemon: ChildProcess): Promise<{ control: string; pid: number }> {
  for await (const line of createInterface({ input: daemon.stdout ?? process.stdin }))
    return JSON.parse(line);
  throw new Error('the daemon has not come up');
}

/** How long the work of calls takes while something else goes on: what they wait for, and what stores them behind their backs. */
async function beside(store: Store, work: () => Promise<void>): Promise<void> {
  const waits: number[] = [];
  const stores: number[] = [];
  let isOver = false;
  const time = async (into: number[], ask: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await ask();
    into.push(performance.now() - began);
  };
  const storing = (async () => {
    while (!isOver) {
      const call = { ...traceOf(traces - 1), traceId: newTraceId(Date.now()), atMs: Date.now() };
      const lines = new TextEncoder().encode(toLine(call));
      await time(stores, () => store.recordCalls({ lines, mayRepeat: false }));
      await sleep(50);
    }
  })();
  const asking = (async () => {
    for (let at = 0; !isOver; at += 1) {
      await time(waits, async () => store.identify(`${at}`.padStart(64, '0'), Date.now()));
      await sleep(2);
    }
  })();
  const began = performance.now();
  await work();
  const took = ms(began);
  isOver = true;
  await Promise.all([storing, asking]);
  const told = (list: number[]) => {
    list.sort((a, b) => a - b);
    const at = (part: number) => list[Math.floor((list.length - 1) * part)]?.toFixed(1);
    return `median ${at(0.5)} ms, 99 % ${at(0.99)} ms, slowest ${at(1)} ms`;
  };
  say('retention of half', took);
  say('  what calls wait for meanwhile', told(waits));
  say('  batches that are stored meanwhile', told(stores));
}

const halfMs = () => Date.now() - (firstMs + spanMs / 2);

async function embedded(): Promise<void> {
  console.log(`\nembedded, ${traces} traces, ${perSecond} a second`);
  const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const open = () =>
    openStore({
      url: { driver: 'embedded', dir: './data' },
      dir: join(dir, 'data'),
      timeoutMs: 10_000,
      caFile: null,
      log: console,
    });
  try {
    let store = await open();
    await fill(store);
    say('on disk', mb(statSync(join(dir, 'data/traces.db')).size));
    await look(store);
    await store.close();
    await exportAll(dir, 'embedded:./data');
    store = await open();
    await beside(store, () => store.keepTraces(halfMs));
    await store.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function redis(): Promise<void> {
  console.log(`\nRedis, ${traces} traces, ${perSecond} a second`);
  const dir = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const port = 12_000 + Math.floor(Math.random() * 9_000);
  const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', dir, '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  const admin = new Redis({ host: '127.0.0.1', port });
  // It is on its way up; the client tries again.
  admin.on('error', () => undefined);
  const url = `redis://127.0.0.1:${port}/0?prefix=p:`;
  const address: StateAddress = {
    driver: 'redis',
    cluster: false,
    tls: false,
    nodes: [{ host: '127.0.0.1', port }],
    username: null,
    password: null,
    database: 0,
    prefix: 'p:',
  };
  const open = () =>
    openStore({ url: address, dir, timeoutMs: 10_000, caFile: null, log: { warn: () => undefined } });
  try {
    await new Promise<void>((ready) => admin.once('ready', ready));
    let store = await open();
    await fill(store);
    say('memory of Redis', String(/used_memory_human:(\S+)/.exec(await admin.info('memory'))?.[1]));
    await look(store);
    await store.close();
    await exportAll(dir, url);
    store = await open();
    // It forgets by itself: here half of all have their time come at once.
    const sooner = `local s = redis.call('ZRANGE', KEYS[1], 0, '(' .. ARGV[1], 'BYSCORE')
      for _, it in ipairs(s) do redis.call('PEXPIRE', KEYS[1] .. ':' .. it, 500) redis.call('PEXPIRE', KEYS[1] .. ':ids:' .. it, 500) end
      return #s`;
    const count = Number(
      await admin.eval(sooner, 1, `p:{${tenantId}}:traces`, Math.floor((firstMs + spanMs / 2) / 1_000)),
    );
    const before = await admin.dbsize();
    await sleep(400);
    await beside(store, async () => {
      // What is stored meanwhile adds a few.
      while ((await admin.dbsize()) > before - 1.9 * count) await sleep(5);
    });
    await store.close();
  } finally {
    admin.disconnect();
    server.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
}

if (driver !== 'redis') await embedded();
if (driver !== 'embedded') await redis();
