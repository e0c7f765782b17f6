// What the console asks of a million traces of one day: each filter of Activity, the overview, and a trace by its id, over HTTP from a daemon of
// its own, on the embedded state or on Redis (a server of its own on a free port). Goals: 200 ms for any filter (p95), 300 ms for the overview.
// Then, where CHROMIUM or /usr/bin/chromium is a browser: the first paint (goal: 1 s) and scrolling with live updates (goal: no long frame).
// `node bench/console.ts [traces] [embedded|redis]`. With `KEEP=<folder>` the state is kept there, and filled once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { newId } from '../src/core/ids.ts';
import { openStore, type StateAddress } from '../src/state/open.ts';
import { measurePage } from './console/browser.ts';
import { agentIds, fill, firstMs, tenantId } from './console/traces.ts';

const traces = Number(process.argv[2] ?? 1_000_000);
const driver = process.argv[3] ?? 'embedded';
const adminSecret = newId();

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
    await measurePage(control, adminSecret);
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
  if (items.length === 0) await fill(store, traces);
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
      kept === undefined ? '' : '86400 1',
      '--appendonly',
      'no',
    ];
    const server = spawn('redis-server', args, { stdio: 'ignore' });
    try {
      await sleep(kept === undefined ? 1_000 : 15_000);
      const nodes = [{ host: '127.0.0.1', port }];
      const login = { username: null, password: null, database: 0, prefix: 'p:' };
      const address: StateAddress = { driver: 'redis', cluster: false, tls: false, nodes, ...login };
      await run(dir, address, `redis://127.0.0.1:${port}/0?prefix=p:`);
    } finally {
      // Told to end, it saves what is to be kept.
      server.kill(kept === undefined ? 'SIGKILL' : 'SIGTERM');
      if (server.exitCode === null) await once(server, 'exit');
    }
  }
} finally {
  if (kept === undefined) rmSync(dir, { recursive: true, force: true });
}
