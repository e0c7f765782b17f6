// How long a daemon takes until it is ready, and what it holds then and under calls. Each start has a state of its own.
// `node bench/start.ts [starts]`
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { basic, openSecureTunnel, send } from '../test/support/clients.ts';
import { startDaemon } from '../test/support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../test/support/gateway.ts';
import { startUpstream } from '../test/support/upstream.ts';
import { type Teardown, withTeardown } from './with-teardown.ts';

const starts = Number(process.argv[2] ?? 5);
const callsPerStart = 2_000;
const settleMs = 3_000;
/** Of the processor's clock in /proc. */
const ticksPerSecond = 100;

interface Start {
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly readyMb: number;
  readonly settledMb: number;
  readonly underCallsMb: number;
}

const results: Start[] = [];
for (let at = 0; at < starts; at++)
  await withTeardown(async (bench) => void results.push(await measure(bench)));
results.sort((a, b) => a.readyMs - b.readyMs);
console.table(results);
const middle = results[results.length >> 1] as Start;
console.log(
  `median: ready after ${middle.readyMs} ms with ${middle.readyMb} MB, ${middle.settledMb} MB soon after; the first start of a program is slower`,
);

async function measure(bench: Teardown): Promise<Start> {
  const upstream = await startUpstream(bench);
  // Tests have no reader threads and no last tier of compiled code. Users have both.
  const { dir, configFile } = writeTestConfig(bench, { upstream, config: { reading: { threads: null } } });
  const startedMs = performance.now();
  const daemon = await startDaemon(bench, dir, ['--config', configFile], ['--turbofan']);
  const readyMs = Math.round(performance.now() - startedMs);
  const pid = daemon.process.pid as number;
  const cpuMs = cpuMsOf(pid);
  const readyMb = residentMb(pid);
  await sleep(settleMs);
  const settledMb = residentMb(pid);
  const asked = { tenant_id: 'acme', name: 'bench', default_agent_id: agentId };
  const answer = await apiClient(daemon.controlUrl)('POST', '/v1/keys', asked, `Bearer ${adminSecret}`);
  const socket = await openSecureTunnel({
    proxyUrl: daemon.proxyUrl,
    authorization: basic(answer.body.key),
    authority: 'api.test.example:443',
    ca: readFileSync(daemon.caFile, 'utf8'),
  });
  for (let call = 0; call < callsPerStart; call++) {
    const body = Buffer.from(JSON.stringify({ call, text: `Words of call ${call}. `.repeat(80) }));
    const headers = {
      host: 'api.test.example',
      'content-type': 'application/json',
      'content-length': body.length,
    };
    await send(socket, { method: 'POST', path: '/calls', headers, body });
  }
  const underCallsMb = residentMb(pid);
  socket.destroy();
  return { readyMs, cpuMs, readyMb, settledMb, underCallsMb };
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

function residentMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kilobytes) / 1024);
}
