// How long a call of 2 KB takes beside four connections on which another agent sends what is dear to read, and for how long the event loop of
// the gateway is blocked meanwhile. Daemon, upstream and sender are processes of their own. `node bench/isolation.ts [threads] [seconds] [content]`
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic, openSecureTunnel, send } from '../test/support/clients.ts';
import { startDaemon } from '../test/support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../test/support/gateway.ts';
import { startUpstream } from '../test/support/upstream.ts';
import { blockedMs } from './isolation/blocked-ms.ts';
import { contents } from './isolation/contents.ts';
import type { SenderOrder } from './isolation/sender.ts';
import { type Teardown, withTeardown } from './with-teardown.ts';

const threads = process.argv[2] === undefined || process.argv[2] === 'null' ? null : Number(process.argv[2]);
const seconds = Number(process.argv[3] ?? 4);
const only = process.argv[4] ?? '';
const connections = 4;
const otherAgent = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99';
const body = Buffer.from(
  JSON.stringify({ title: 'a question', text: 'Words of a ticket, with a number such as 4711. '.repeat(40) }),
);

await withTeardown(main);

async function main(bench: Teardown): Promise<void> {
  const upstream = await startUpstream(bench);
  const { dir, configFile } = writeTestConfig(bench, {
    upstream,
    config: {
      reading: { threads },
      limits: { max_body_bytes: '16MB' },
      agents: [agentId, otherAgent].map((id, at) => ({
        id,
        tenant: 'acme',
        env: 'production',
        name: `bot-${at}`,
      })),
    },
  });
  const loopFile = join(dir, 'loop.json');
  process.env['BENCH_LOOP_FILE'] = loopFile;
  const preload = ['--import', resolve(import.meta.dirname, 'isolation/loop-delay.ts')];
  const daemon = await startDaemon(bench, dir, ['--config', configFile], preload);
  const keyOf = async (agent: string): Promise<string> => {
    const asked = { tenant_id: 'acme', name: agent, default_agent_id: agent };
    const answer = await apiClient(daemon.controlUrl)('POST', '/v1/keys', asked, `Bearer ${adminSecret}`);
    return answer.body.key;
  };
  const ca = readFileSync(daemon.caFile, 'utf8');
  const targetOf = (key: string): SenderOrder['target'] => ({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(key),
    authority: 'api.test.example:443',
    ca,
  });
  const own = targetOf(await keyOf(agentId));
  const other = targetOf(await keyOf(otherAgent));

  async function measure(forMs: number): Promise<number[]> {
    const socket = await openSecureTunnel(own);
    const times: number[] = [];
    const endsAt = performance.now() + forMs;
    while (performance.now() < endsAt) {
      const startMs = performance.now();
      const headers = {
        host: 'api.test.example',
        'content-type': 'application/json',
        'content-length': body.length,
      };
      await send(socket, { method: 'POST', path: '/small', headers, body });
      times.push(performance.now() - startMs);
    }
    socket.destroy();
    return times.sort((a, b) => a - b);
  }

  const columns = ['content', 'calls', 'p50 ms', 'p99 ms', 'max ms', 'loop ms', 'answers to the other agent'];
  const widths = [18, 7, 8, 8, 8, 8, 30];
  const print = (cells: readonly (string | number)[]): void =>
    console.log(cells.map((it, at) => String(it).padEnd(widths[at] ?? 0)).join(' '));
  const row = async (name: string, times: readonly number[], statuses: string): Promise<void> => {
    const at = (share: number): string => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(1);
    print([
      name,
      times.length,
      at(0.5),
      at(0.99),
      at(1),
      (await blockedMs(daemon.process, loopFile)).toFixed(1),
      statuses,
    ]);
  };

  console.log(`reading.threads: ${threads}`);
  print(columns);
  // Readers start, and what is compiled is compiled.
  await measure(4_000);
  await blockedMs(daemon.process, loopFile);
  await row('nothing', await measure(seconds * 1000), '');
  for (const name of [...contents.keys()].filter((it) => it.includes(only))) {
    const sender = fork(resolve(import.meta.dirname, 'isolation/sender.ts'));
    let statuses = '';
    sender.on('message', (message) => {
      statuses = JSON.stringify(message);
    });
    sender.send({ target: other, content: name, connections } satisfies SenderOrder);
    await once(sender, 'message');
    await sleep(1_500);
    await blockedMs(daemon.process, loopFile);
    await row(name, await measure(seconds * 1000), statuses);
    sender.kill('SIGKILL');
    await sleep(500);
  }
}
