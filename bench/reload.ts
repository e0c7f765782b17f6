// How long a daemon with a large configuration takes to start, and how long calls wait while it reads that again: 8,000 keys, 10,000 agents,
// 2,000 routes and 500 files of policies, of which a few have changed. `node bench/reload.ts [reloads] [share]`; a share of 0.1 is a tenth of it.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { basic, openSecureTunnel, send } from '../test/support/clients.ts';
import { startDaemon } from '../test/support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../test/support/gateway.ts';
import { startUpstream } from '../test/support/upstream.ts';
import { blockedMs } from './isolation/blocked-ms.ts';
import { type Teardown, withTeardown } from './with-teardown.ts';

const reloads = Number(process.argv[2] ?? 3);
const share = Number(process.argv[3] ?? 1);
const doneMsMax = 60_000;
const body = Buffer.from(
  JSON.stringify({ text: 'Words of a ticket, with a number such as 4711. '.repeat(40) }),
);

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.round(count * share) }, (_, index) => make(index));

const agentIdAt = (index: number): string =>
  `5b0c7f0e-7a54-4b0e-9a55-${index.toString(16).padStart(12, '0')}`;

/** `edition` is in a few of each kind, so that another one is a change. */
const largeConfig = (edition: number) => ({
  agents: [
    { id: agentId, tenant: 'acme', env: 'production', name: 'caller' },
    ...times(10_000, (index) => ({
      id: agentIdAt(index),
      tenant: 'acme',
      env: 'production',
      name: `agent ${index}`,
    })),
  ],
  keys: times(8_000, (index) => ({
    name: index < 5 ? `key ${index} of edition ${edition}` : `key ${index}`,
    tenant: 'acme',
    agent: agentIdAt(index),
    hash: `sha256:${createHash('sha256').update(`key ${index}`).digest('hex')}`,
  })),
  inbound: times(2_000, (index) => ({
    prefix: `route-${index}`,
    tenant: 'acme',
    agent: agentIdAt(index),
    upstream: `https://service-${index}.test.example/${index < 5 ? edition : 'api'}`,
    auth: index % 2 ? 'none' : 'key',
    ...(index % 2 ? { allowed_sites: ['*'] } : {}),
  })),
});

const policy = (index: number, edition: number): string => `name: policy-${index}
description: ${index < 5 ? `edition ${edition}` : 'what the team may do'}
mode: enforce
rules:
${[0, 1, 2, 3]
  .map(
    (rule) => `  - rule_id: rule-${rule}
    priority: ${rule + 1}
    action: DENY
    match:
      verbs: [WRITE, ADMIN]
      url_patterns: ["https://service-${index}.test.example/part-${rule}/*"]
    condition:
      body_contains_any: ["word-${index}-${rule}"]
`,
  )
  .join('')}`;

/** Writes all of one edition, the policies that are the same aside. */
function writeEdition(dir: string, base: object, edition: number): void {
  const folder = join(dir, 'policies');
  mkdirSync(folder, { recursive: true });
  times(500, (index) => {
    if (edition === 0 || index < 5)
      writeFileSync(join(folder, `policy-${index}.yaml`), policy(index, edition));
  });
  const { agents, keys, inbound } = largeConfig(edition);
  // An entry a line, as people write lists: a file of JSON has the form of YAML, and is not what is measured here.
  const list = (name: string, entries: readonly object[]): string =>
    `${name}:\n${entries
      .map((it) => {
        const lines = Object.entries(it).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
        return `  - ${lines.join('\n    ')}\n`;
      })
      .join('')}`;
  const rest = Object.entries(base)
    .filter(([key]) => !['agents', 'keys', 'inbound', 'policies'].includes(key))
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('');
  writeFileSync(
    join(dir, 'postern.yaml'),
    `${rest}policies: ["policies/*.yaml"]\n${list('agents', agents)}${list('keys', keys)}${list('inbound', inbound)}`,
  );
}

async function main(bench: Teardown): Promise<void> {
  const upstream = await startUpstream(bench);
  const { dir, configFile } = writeTestConfig(bench, { upstream });
  const base = parse(readFileSync(configFile, 'utf8'));
  writeEdition(dir, base, 0);
  const loopFile = join(dir, 'loop.json');
  process.env['BENCH_LOOP_FILE'] = loopFile;
  const preload = [
    '--import',
    resolve(import.meta.dirname, 'isolation/loop-delay.ts'),
    ...(process.env['BENCH_NODE_ARGS']?.split(' ') ?? []),
  ];
  const start = async (what: string) => {
    const startMs = performance.now();
    const daemon = await startDaemon(bench, dir, ['--config', join(dir, 'postern.yaml')], preload);
    console.log(`${what}: ready after ${Math.round(performance.now() - startMs)} ms`);
    return daemon;
  };
  const first = await start('first start');
  const exited = new Promise((done) => first.process.once('exit', done));
  first.process.kill('SIGTERM');
  await exited;
  const daemon = await start('start with the same state');

  const call = apiClient(daemon.controlUrl);
  const admin = `Bearer ${adminSecret}`;
  const asked = { tenant_id: 'acme', name: 'caller', default_agent_id: agentId };
  const { key } = (await call('POST', '/v1/keys', asked, admin)).body;
  const target = {
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority: 'api.test.example:443',
    ca: readFileSync(daemon.caFile, 'utf8'),
  };
  const configOf = async () => (await call('GET', '/readyz', undefined, admin)).body.config;

  /** Calls until `until` is fulfilled; answers their times. */
  async function callWhile(until: Promise<unknown>): Promise<number[]> {
    let isDone = false;
    void until.finally(() => {
      isDone = true;
    });
    const waits: number[] = [];
    const socket = await openSecureTunnel(target);
    while (!isDone) {
      const startMs = performance.now();
      const headers = {
        host: 'api.test.example',
        'content-type': 'application/json',
        'content-length': body.length,
      };
      const { status } = await send(socket, { method: 'POST', path: '/small', headers, body });
      if (status !== 200) throw new Error(`a call was answered ${status}`);
      waits.push(performance.now() - startMs);
    }
    socket.destroy();
    return waits.sort((a, b) => a - b);
  }

  const row = async (what: string, waits: readonly number[], tookMs: number): Promise<void> => {
    const at = (part: number): string => (waits[Math.floor((waits.length - 1) * part)] ?? 0).toFixed(1);
    console.log(
      `${what}: took ${Math.round(tookMs)} ms, ${waits.length} calls, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ` +
        `longest wait ${at(1)} ms, longest block of the loop ${(await blockedMs(daemon.process, loopFile)).toFixed(1)} ms`,
    );
  };

  await callWhile(sleep(5_000));
  await blockedMs(daemon.process, loopFile);
  await row('no reload', await callWhile(sleep(3_000)), 3_000);
  for (let edition = 1; edition <= reloads; edition++) {
    writeEdition(dir, base, edition);
    await sleep(500);
    await blockedMs(daemon.process, loopFile);
    const startMs = performance.now();
    let tookMs = Number.NaN;
    const reload = async (): Promise<void> => {
      const before: number = (await configOf()).generation;
      daemon.process.kill('SIGHUP');
      while ((await configOf()).generation === before) {
        if (performance.now() - startMs > doneMsMax) throw new Error('the reload is not done');
        await sleep(10);
      }
      tookMs = performance.now() - startMs;
      // What a reload leaves behind is paid by calls, too.
      await sleep(500);
    };
    await row(`reload ${edition}`, await callWhile(reload()), tookMs);
  }
}

await withTeardown(main);
