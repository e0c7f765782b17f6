import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { stringify } from 'yaml';
import { threadsOf } from '../../src/daemon/reader-threads.ts';
import { basic, openSecureTunnel, type Reply, send } from '../support/clients.ts';
import { startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, testConfig, writeTestConfig } from '../support/gateway.ts';
import { startUpstream } from '../support/upstream.ts';

t.test('each process has its share of the cores, and one thread at least', async (t) => {
  const shares: readonly [wanted: number | null, workers: number, cores: number, threads: number][] = [
    [null, 1, 1, 1],
    [null, 1, 2, 1],
    [null, 1, 8, 7],
    [null, 4, 8, 1],
    [null, 2, 16, 7],
    [0, 1, 8, 0],
    [3, 4, 2, 3],
  ];
  for (const [wanted, workers, cores, threads] of shares)
    t.equal(threadsOf(wanted, { workers }, cores), threads, `${wanted} of ${workers} on ${cores}`);
});

/** Returns the niceness of a process or thread (proc(5), field 19 of `stat`). */
function nicenessOf(statFile: string): number {
  const stat = readFileSync(statFile, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}

const long = (text: string): string =>
  `${'Order 88123454 of 2026-11-24 for client-7f3a9c2e1b has come back. '.repeat(400)}${text}`;

t.test('a large body that breaks its reader is denied, and all others go on', async (t) => {
  const upstream = await startUpstream(t);
  const setup = (tenant: object) => ({
    upstream,
    config: {
      reading: { threads: 2 },
      log: { level: 'info' },
      tenants: [{ id: 'acme', plan: 'enterprise', environments: ['production'], ...tenant }],
    },
  });
  const { dir, configFile } = writeTestConfig(t, setup({}));
  const preload = ['--import', resolve(import.meta.dirname, 'broken-reader.ts')];
  const daemon = await startDaemon(t, dir, ['--config', configFile], preload);
  const asked = { tenant_id: 'acme', name: 'test', default_agent_id: agentId };
  const { body: minted } = await apiClient(daemon.controlUrl)(
    'POST',
    '/v1/keys',
    asked,
    `Bearer ${adminSecret}`,
  );
  const target = {
    proxyUrl: daemon.proxyUrl,
    authorization: basic(minted.key),
    authority: 'api.test.example:443',
    ca: readFileSync(daemon.caFile, 'utf8'),
  };
  const post = async (body: string): Promise<Reply> => {
    const socket = await openSecureTunnel(target);
    const headers = { host: 'api.test.example', 'content-type': 'text/plain' };
    const reply = await send(socket, { method: 'POST', path: '/tickets', headers, body });
    socket.destroy();
    return reply;
  };
  const isDeniedFor = (reply: Reply, reason: string): void => {
    t.equal(reply.status, 403);
    t.match(reply.headers['x-service-reasons'], reason);
  };

  // Until the first thread has begun the event loop reads, where nothing breaks.
  let stuck = await post(long('never end'));
  for (; stuck.status === 200; stuck = await post(long('never end'))) await sleep(100);
  isDeniedFor(stuck, 'UNREADABLE');
  if (process.platform === 'linux') {
    const { pid } = daemon.process;
    t.equal(nicenessOf(`/proc/${pid}/stat`), 0, 'the event loop has the usual priority');
    const threads = readdirSync(`/proc/${pid}/task`).map((it) => nicenessOf(`/proc/${pid}/task/${it}/stat`));
    t.ok(threads.includes(10), 'readers have a lower one');
  }

  const both = post(long('never end'));
  const others = [post('a short one'), post(long('a long one')), post(long('and one more'))];
  t.same(
    (await Promise.all(others)).map((it) => it.status),
    [200, 200, 200],
    'nobody waits for it',
  );
  isDeniedFor(await both, 'UNREADABLE');

  isDeniedFor(await post(long('die')), 'UNREADABLE');
  t.equal((await post(long('another long one'))).status, 200, 'a new one has its place');
  const told = daemon.log.filter((it) => String(it['msg']).startsWith('a reader thread'));
  t.same(told.map((it) => String(it['kind'])).toSorted(), ['deadline', 'deadline', 'death']);
  t.notMatch(JSON.stringify(daemon.log), 'words of a ticket', 'nothing of what was read is told');

  const secret = long('PROJECT NIGHTJAR');
  t.equal((await post(secret)).status, 200);
  const changed = setup({ internal: { markers: ['PROJECT NIGHTJAR'] }, posture: { internal: 'DENY' } });
  writeFileSync(configFile, stringify(testConfig(changed)));
  const reloaded = daemon.logged('configuration reloaded');
  daemon.process.kill('SIGHUP');
  await reloaded;
  isDeniedFor(await post(secret), 'INTERNAL');
  t.equal(await daemon.end('SIGTERM'), 0, 'no thread keeps it from ending');
});
