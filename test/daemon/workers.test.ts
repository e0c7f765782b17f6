import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import {
  callOnce,
  connectionsOf,
  isRunning,
  pidOf,
  ready,
  startCrew,
  workers,
  workersOf,
} from '../support/crew.ts';
import { until } from '../support/redis.ts';
import { parsePrometheus, totalOf } from './metrics/prometheus-text.ts';

t.test('all workers serve, a reload reaches all of them or none, and a crash is mended', async (t) => {
  const crew = await startCrew(t);
  if (!crew) return;
  const { daemon, dir } = crew;
  const parent = pidOf(crew);
  t.equal(readFileSync(join(dir, 'postern.pid'), 'utf8'), `${parent}\n`, 'the process is the parent');
  const pids = workersOf(parent);
  t.equal(pids.length, workers);
  const flags = [...readFileSync('bin/postern', 'utf8').matchAll(/'(--[\w=-]+)'/g)].map(([, flag]) => flag);
  t.equal(flags.length, 6);
  for (const pid of pids)
    t.strictSame(
      flags.filter(
        (flag) => !readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(String(flag)),
      ),
      [],
      'a worker compiles and collects as a daemon without workers does',
    );
  const tunnels = await Promise.all(Array.from({ length: 6 }, () => crew.tunnel()));
  const spread = connectionsOf(pids, daemon.proxyUrl);
  t.ok(
    spread.every((count) => count > 0),
    `connections are dealt to all: ${spread}`,
  );
  t.strictSame(connectionsOf([parent], daemon.proxyUrl), [0], 'and the parent keeps none');

  const deny = (method: string) =>
    stringify({
      name: 'from-file',
      rules: [{ rule_id: 'no', match: { methods: [method] }, condition: {}, action: 'DENY' }],
    });
  writeFileSync(join(dir, 'policies', 'a.yaml'), deny('PATCH'));
  const taken = daemon.logged('configuration reloaded');
  daemon.process.kill('SIGHUP');
  await taken;
  for (const tunnel of tunnels) t.equal(await crew.call(tunnel, 'PATCH'), 403, 'the policy is in force');
  const denied = async (): Promise<number> => {
    const response = await fetch(new URL('/metrics', daemon.controlUrl));
    return totalOf(parsePrometheus(await response.text()), 'postern_calls_total', { decision: 'DENY' });
  };
  for (let i = 0; i < 2 * workers; i += 1)
    t.equal(await denied(), tunnels.length, 'whichever worker is asked, the metrics are those of all');
  const agreed = async (want: object) => {
    for (let i = 0; i < 2 * workers; i += 1) t.match((await ready(crew)).config, want);
  };
  await agreed({ generation: 2, last_error: null });

  writeFileSync(join(dir, 'policies', 'a.yaml'), 'name: broken\nrules: [{ rule_id: 1 }]\n');
  const refused = daemon.logged('the configuration was refused; the old one stays');
  daemon.process.kill('SIGHUP');
  t.match(JSON.stringify((await refused)['mistakes']), /a\.yaml/);
  await agreed({ generation: 2, last_error: /a\.yaml/ });

  crew.write({ workers: workers + 1 });
  const fixed = daemon.logged('the configuration was refused; the old one stays');
  daemon.process.kill('SIGHUP');
  t.match(JSON.stringify((await fixed)['mistakes']), /workers/, 'what cannot be reloaded is named');

  const [victim = 0, survivor = 0] = pids;
  const back = daemon.logged('a worker serves again');
  process.kill(victim, 'SIGKILL');
  const late: number[] = [];
  let isBack = false;
  const calling = (async () => {
    while (!isBack) {
      // Whatever was on its way to the worker that ended is closed, and nothing hangs.
      late.push(await callOnce(crew, 'PATCH').catch(() => 0));
    }
  })();
  await back;
  isBack = true;
  await calling;
  t.ok(late.includes(403), 'calls go on meanwhile');
  t.ok(
    late.every((it) => it === 403 || it === 0),
    'by what is in force, whatever stands in the files',
  );
  const now = workersOf(parent);
  t.equal(now.length, workers, 'it comes back');
  t.ok(now.includes(survivor));
  t.ok((await denied()) > tunnels.length, 'what the worker that ended had counted is not lost');
  await agreed({ generation: 2, last_error: /workers/ });
  const after = await Promise.all(Array.from({ length: 6 }, () => crew.tunnel()));
  for (const tunnel of after)
    t.equal(await crew.call(tunnel, 'PATCH'), 403, 'the old policy, on each of them');
  t.ok(
    connectionsOf(now, daemon.proxyUrl).every((count) => count > 0),
    'and takes its part again',
  );
});

t.test('a rate is that of all workers together', async (t) => {
  const crew = await startCrew(t, {
    plans: { small: { extends: 'team', scans_per_minute: 1, burst: 7 } },
    tenants: [{ id: 'acme', plan: 'small', environments: ['production'] }],
  });
  if (!crew) return;
  const tunnels = await Promise.all(Array.from({ length: 6 }, () => crew.tunnel()));
  t.ok(connectionsOf(workersOf(pidOf(crew)), crew.daemon.proxyUrl).every((count) => count > 0));
  const statuses = await Promise.all(
    tunnels.map(async (tunnel) => [
      await crew.call(tunnel),
      await crew.call(tunnel),
      await crew.call(tunnel),
    ]),
  );
  const passed = statuses.flat().filter((it) => it === 200).length;
  t.ok(passed === 7 || passed === 8, `${passed} of 18 passed: the burst, and what a slow minute adds`);
  t.ok(statuses.flat().every((it) => it === 200 || it === 429));
});

t.test('SIGTERM drains all workers, and the daemon leaves with 0', async (t) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let arrived = 0;
  const crew = await startCrew(t, {}, async (_request, response) => {
    arrived += 1;
    await released;
    response.end('late');
  });
  if (!crew) return;
  const pids = workersOf(pidOf(crew));
  const tunnels = await Promise.all(Array.from({ length: 6 }, () => crew.tunnel()));
  const running = tunnels.map((it) => crew.call(it));
  await until('all calls at the upstream', async () => arrived === tunnels.length);
  const draining = crew.daemon.logged('draining');
  const ended = crew.daemon.end('SIGTERM');
  await draining;
  await until('nobody listens', () => refuses(crew.daemon.proxyUrl));
  release();
  t.strictSame(
    await Promise.all(running),
    tunnels.map(() => 200),
  );
  t.equal(await ended, 0);
  t.notOk(pids.some(isRunning));
  t.notOk(existsSync(join(crew.dir, 'postern.pid')));
});

function refuses(url: string): Promise<boolean> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = net.connect({ host, port: Number(port) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}
