// What the console asks of a million traces of one day: each filter of Activity, the overview, and a trace by its id, over HTTP from a daemon of
// its own, on the embedded state or on Redis (a server of its own on a free port). Goals: 200 ms for any filter (p95), 300 ms for the overview.
// `node bench/console.ts [traces] [embedded|redis]`. With `KEEP=<folder>` the embedded state is kept there, and filled once.
import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { derivedId, newId, newTraceId } from '../src/core/ids.ts';
import { ownName } from '../src/core/safe-name.ts';
import { toLine } from '../src/state/journal/line.ts';
import { openStore, type StateAddress } from '../src/state/open.ts';
import type { RecordedCall, Store } from '../src/state/store.ts';

const traces = Number(process.argv[2] ?? 1_000_000);
const driver = process.argv[3] ?? 'embedded';
const tenantId = 'bench';
const adminSecret = newId();
const dayMs = 86_400_000;
const spanMs = dayMs - 60_000;
const firstMs = Date.now() - spanMs;
const agentIds = Array.from({ length: 40 }, (_, at) => derivedId(hash('sha256', `agent ${at}`)));
const keyId = newId();
const tools = Array.from({ length: 30 }, (_, at) => `tool_${at}`);
/** Among all traces these are a handful. */
const rare = (at: number): boolean => at % 250_000 === 125_000;

function traceOf(at: number): RecordedCall {
  const atMs = firstMs + Math.floor((at * spanMs) / traces);
  const traceId = newTraceId(atMs);
  const agentId = agentIds[(at * 7) % agentIds.length] ?? '';
  const tool = tools[(at * 11) % tools.length] ?? '';
  const decision =
    at % 50 === 0 ? 'DENY' : at % 97 === 0 ? 'REQUIRE_APPROVAL' : at % 20 === 0 ? 'SANITIZE' : 'ALLOW';
  const isFound = decision !== 'ALLOW';
  const line = JSON.stringify({
    trace_id: traceId,
    at: new Date(atMs).toISOString(),
    tenant_id: tenantId,
    env_name: 'default',
    agent_id: agentId,
    key_id: keyId,
    key_prefix: 'iv_live_0abc',
    agent_name: `worker-${at % agentIds.length}`,
    client_address: '10.0.0.7',
    entrance: 'forward',
    method: at % 3 === 0 ? 'POST' : 'GET',
    url: `https://api.${tool}.example.com/v1/projects/${at % 997}/items/${traceId.slice(-12)}`,
    body_bytes: at % 4_096,
    tool_name: tool,
    operation: rare(at) ? 'drop_database' : `list_items_${at % 120}`,
    verb: at % 3 === 0 ? 'WRITE' : 'READ',
    decision,
    risk_score: (at % 100) / 100,
    risk_band: at % 50 === 0 ? 'HIGH' : at % 20 === 0 ? 'MEDIUM' : 'LOW',
    reason_codes: rare(at) ? ['MASS_ACTION'] : isFound ? ['SECRETS', 'PII'] : ['POLICY_ALLOW'],
    classifications: rare(at) ? ['PHI'] : isFound ? ['SECRETS', 'PII'] : [],
    tags: rare(at) ? ['quarterly'] : at % 100 === 0 ? ['nightly'] : [],
    explanation: ['Rule "r1" of the policy "baseline" decides: the tool is one of those that it names.'],
  });
  const destination = ownName(`api.${tool}.example.com`);
  return {
    traceId,
    tenantId,
    agentId,
    keyId,
    atMs,
    decision,
    outcome: 'call',
    destination,
    line: ownName(line),
  };
}

async function fill(store: Store): Promise<void> {
  const began = performance.now();
  // As many as a daemon ships at once in a quarter of a second, more or less: each second has its own chunks anyway.
  const perBatch = 500;
  for (let at = 0; at < traces; at += perBatch) {
    const calls = Array.from({ length: Math.min(perBatch, traces - at) }, (_, nth) => traceOf(at + nth));
    await store.recordCalls({
      lines: new TextEncoder().encode(calls.map(toLine).join('')),
      mayRepeat: false,
    });
  }
  console.log(`${traces} traces of a day are stored in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

/** Each several times, with other values where there are some. */
const filters: Readonly<Record<string, readonly string[]>> = {
  nothing: [''],
  decision: ['decision=DENY', 'decision=ALLOW', 'decision=REQUIRE_APPROVAL'],
  agent: agentIds.slice(0, 4).map((it) => `agent_id=${it}`),
  tool: ['tool_name=tool_3', 'tool_name=tool_29'],
  'a tool that is not there': ['tool_name=nothing'],
  reason: ['reason=SECRETS', 'reason=POLICY_ALLOW'],
  'a rare reason': ['reason=MASS_ACTION'],
  band: ['band=HIGH', 'band=LOW'],
  'a band that is not there': ['band=CRITICAL'],
  operation: ['operation=list_items_7'],
  'a rare operation': ['operation=drop_database'],
  class: ['class=PII'],
  'a rare class': ['class=PHI'],
  tag: ['tag=nightly'],
  'a rare tag': ['tag=quarterly'],
  'several that never meet': [`tool_name=tool_3&band=HIGH&decision=SANITIZE`],
  'agent and tool and decision': [`agent_id=${agentIds[0]}&tool_name=tool_0&decision=DENY`],
  text: ['q=projects%2F12%2F', 'q=worker-7'],
  'a rare text': ['q=drop_database'],
  'a text that is not there': ['q=no-such-text-anywhere'],
  'an hour of yesterday': [
    `from=${new Date(firstMs + 3_600_000).toISOString()}&to=${new Date(firstMs + 7_200_000).toISOString()}`,
  ],
};

type Ask = (path: string) => Promise<{ readonly ms: number; readonly body: unknown }>;

async function look(ask: Ask, rounds: number): Promise<void> {
  const all: number[] = [];
  for (const [name, queries] of Object.entries(filters)) {
    const times: number[] = [];
    let found = 0;
    let isWhole = true;
    for (let round = 0; round < rounds; round += 1)
      for (const query of queries) {
        const { ms, body } = await ask(`/v1/traces?limit=50&${query}`);
        const { items, next_cursor: next } = body as { items: unknown[]; next_cursor: string | null };
        times.push(ms);
        found = items.length;
        isWhole = items.length >= 50 || next === null;
      }
    all.push(...times);
    const whole = isWhole ? 'a whole page' : 'NOT a whole page';
    console.log(`${name.padEnd(30)} ${shown(times)}, ${found} found, ${whole}`);
  }
  console.log(`${'all filters'.padEnd(30)} ${shown(all)}`);
  for (const [name, path] of [
    ['overview of a day by minute', `/v1/stats?interval=minute&from=${new Date(firstMs).toISOString()}`],
    ['overview of a day by hour', '/v1/stats?interval=hour'],
  ] as const) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push((await ask(path)).ms);
    console.log(`${name.padEnd(30)} ${shown(times)}`);
  }
}

function shown(times: number[]): string {
  times.sort((a, b) => a - b);
  const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? 0).toFixed(0).padStart(5);
  return `median ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms`;
}

async function readyLine(daemon: ChildProcess): Promise<{ control: string }> {
  for await (const line of createInterface({ input: daemon.stdout ?? process.stdin }))
    return JSON.parse(line);
  throw new Error('the daemon has not come up');
}

async function askDaemon(dir: string, url: string): Promise<void> {
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
    const { control } = await readyLine(daemon);
    await look(async (path) => {
      const began = performance.now();
      const response = await fetch(new URL(path, control), {
        headers: { authorization: `Bearer ${adminSecret}` },
      });
      const body = await response.json();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
      return { ms: performance.now() - began, body };
    }, 10);
  } finally {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
  }
}

async function run(dir: string, address: StateAddress, url: string): Promise<void> {
  const data = join(dir, 'data');
  const log = { warn: () => undefined };
  const store = await openStore({ url: address, dir: data, timeoutMs: 10_000, caFile: null, log });
  const { items } = await store.listTraces(tenantId, {}, { limit: 1, cursor: undefined });
  if (items.length === 0) await fill(store);
  await store.close();
  await askDaemon(dir, url);
}

const kept = process.env['KEEP'];
const dir = kept ?? mkdtempSync(join(tmpdir(), 'postern-bench-'));
try {
  if (driver === 'embedded') await run(dir, { driver: 'embedded', dir: './data' }, 'embedded:./data');
  else {
    const port = 12_000 + Math.floor(Math.random() * 9_000);
    const args = [
      '--bind',
      '127.0.0.1',
      '--port',
      `${port}`,
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    const server = spawn('redis-server', args, { stdio: 'ignore' });
    try {
      await sleep(1_000);
      const nodes = [{ host: '127.0.0.1', port }];
      const login = { username: null, password: null, database: 0, prefix: 'p:' };
      const address: StateAddress = { driver: 'redis', cluster: false, tls: false, nodes, ...login };
      await run(dir, address, `redis://127.0.0.1:${port}/0?prefix=p:`);
    } finally {
      server.kill('SIGKILL');
    }
  }
} finally {
  if (kept === undefined) rmSync(dir, { recursive: true, force: true });
}
