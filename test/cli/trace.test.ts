import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import t from 'tap';
import { posternCommand } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { operatorOf, startHere } from './support.ts';

const { configFile } = writeTestConfig(t, {});
const daemon = await startHere(t, configFile);
const operator = operatorOf(daemon);
const api = apiClient(daemon.controlUrl);
const key = (await operator(['key', 'mint', '--name', 'agent', '--agent', agentId])).stdout.trim();
/** An agent may call itself what it likes. */
const agentName = 'evil\x1b[2Jname';

async function scan(url: string): Promise<string> {
  const call = { method: 'GET', url, agent_name: agentName };
  return (await api('POST', '/v1/scan', call, `Bearer ${key}`)).body.trace_id;
}

/** Whatever came before it is then findable too: the journal is shipped in order. */
const findable = (traceId: string) =>
  until('the trace in the list', async () => {
    const { body } = await api('GET', '/v1/traces?limit=1', undefined, `Bearer ${adminSecret}`);
    return body.items[0]?.trace_id === traceId;
  });

function start(...args: string[]): ChildProcess {
  return spawn('env', posternCommand(args), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, POSTERN_URL: daemon.controlUrl, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret },
  });
}

async function firstLines(child: ChildProcess, count: number): Promise<string[]> {
  const lines: string[] = [];
  if (!child.stdout) return lines;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}

t.test('traces are found and shown, and their names steer no terminal', async (t) => {
  const traceId = await scan('https://searched.test/');
  await findable(traceId);
  const search = ['trace', 'list', '--search', 'searched.test'];
  const listed = await operator([...search, '--decision', 'ALLOW']);
  t.match(listed.stdout, traceId);
  t.match(listed.stdout, 'evil[2Jname');
  t.notMatch(listed.stdout, '\x1b');
  const shown = await operator(['--json', 'trace', 'show', traceId]);
  t.match(JSON.parse(shown.stdout), { trace_id: traceId, agent_name: 'evil[2Jname' });
  const denied = await operator([...search, '--decision', 'DENY', '--json']);
  t.same(JSON.parse(denied.stdout), { items: [], next_cursor: null });
});

t.test('an export has all traces, however many pages they are', async (t) => {
  const count = 1001;
  for (let sent = 0; sent < count; sent += 77)
    await Promise.all(Array.from({ length: 77 }, () => scan('https://paged.test/')));
  await findable(await scan('https://last.test/'));
  const ran = await operator(['trace', 'export', '--search', 'paged.test']);
  const ids = ran.stdout
    .split('\n')
    .slice(0, -1)
    .map((it): string => JSON.parse(it).trace_id);
  t.equal(new Set(ids).size, count);
  t.same(ids, ids.toSorted().reverse(), 'newest first');
  t.equal((await operator(['--json', 'trace', 'export', '--search', 'paged.test'])).stdout, ran.stdout);
  const csv = await operator(['trace', 'export', '--format', 'csv', '--search', 'paged.test']);
  t.equal(csv.stdout.split('\r\n').length, count + 2);
  const ocsf = await operator(['trace', 'export', '--format', 'ocsf', '--search', 'last.test']);
  t.match(JSON.parse(ocsf.stdout), { class_uid: 6003, actor: { app_name: 'evil[2Jname' } });
  t.match(await operator(['trace', 'export', '--format', 'xml']), { code: 2 });
  t.match(await operator(['trace', 'export', '--agent', 'nobody']), { code: 2, stderr: /--agent/ });
});

t.test('a reader that has enough ends an export', async (t) => {
  const child = start('trace', 'export');
  t.teardown(() => child.kill('SIGKILL'));
  const said: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => said.push(chunk));
  child.stdout?.once('data', () => child.stdout?.destroy());
  const [code] = await once(child, 'close');
  t.equal(code, 0);
  t.equal(Buffer.concat(said).toString(), '');
});

t.test('tail shows the last calls, then those that come, each once', async (t) => {
  const before = [await scan('https://followed.test/1'), await scan('https://followed.test/2')];
  await findable(before[1] ?? '');
  const child = start('trace', 'tail', '--last', '2', '--search', 'followed.test');
  t.teardown(() => child.kill('SIGKILL'));
  const lines = firstLines(child, 5);
  await once(child.stdout ?? child, 'data');
  const after = [];
  for (const name of ['3', '4', '5']) after.push(await scan(`https://followed.test/${name}`));
  await scan('https://another.test/');
  const ids = (await lines).map((it) => it.split('  ').at(-1));
  t.same(ids, [...before, ...after], 'the older ones first');
});
