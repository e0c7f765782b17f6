import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { run } from '../support/clients.ts';
import { isRunning, pidOf, startCrew, workers, workersOf } from '../support/crew.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { apiClient } from '../support/gateway.ts';
import { until } from '../support/redis.ts';

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

t.test('a daemon with workers comes and goes as one', async (whole) => {
  const crew = await startCrew(whole);
  if (!crew) return;
  const serve = ['--config', crew.configFile, '--json', 'serve'];

  await whole.test('what cannot be started is told of once, and nobody stays', async (t) => {
    const second = await run('env', posternCommand(serve));
    t.equal(second.code, 1);
    t.match(second.stderr, /in use by another Postern/, 'a second daemon on the same files');
    const { port } = new URL(crew.daemon.proxyUrl);
    crew.write({
      proxy: { listen: `127.0.0.1:${port}` },
      state: { url: `redis://${crew.redis.host}:${crew.redis.port}/1`, dir: './other' },
    });
    const third = await run('env', posternCommand(serve));
    t.equal(third.code, 1);
    t.match(third.stderr, /is taken by another program/, 'a port that is taken');
    t.equal(third.stderr.match(/is taken by/g)?.length, 1);
    // A start goes on trying for thirty times as long.
    crew.write({
      state: { url: `redis://127.0.0.1:${await closedPort()}/0`, dir: './other', timeout: '100ms' },
    });
    const fourth = await run('env', posternCommand(serve));
    t.equal(fourth.code, 1, 'a state that is away');
    t.ok(existsSync(join(crew.dir, 'postern.pid')), 'and the file of the first one stays');
    crew.write({});
  });

  let next = crew.daemon;
  await whole.test(
    'a parent that is killed takes its workers with it, and the next one finds their ports and journals',
    async (t) => {
      const pids = workersOf(pidOf(crew));
      const tunnel = await crew.tunnel();
      t.equal(await crew.call(tunnel), 200);
      t.equal(await crew.daemon.end('SIGKILL'), 'SIGKILL');
      await until('all workers are gone', async () => !pids.some(isRunning));
      next = await startDaemon(whole, crew.dir, ['--config', crew.configFile]);
      t.equal((await apiClient(next.controlUrl)('GET', '/readyz', undefined, '')).status, 200);
    },
  );

  await whole.test('a signal during a reload leaves nobody behind', async (t) => {
    const pids = workersOf(pidOf(crew));
    t.equal(pids.length, workers);
    next.process.kill('SIGHUP');
    next.process.kill('SIGHUP');
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await sleep(0);
    t.equal(await next.end('SIGTERM'), 0);
    t.notOk(pids.some(isRunning));
  });
});

t.test('workers that end again and again end the daemon', async (t) => {
  const crew = await startCrew(t);
  if (!crew) return;
  const parent = pidOf(crew);
  const ended = once(crew.daemon.process, 'exit');
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const known = new Set(workersOf(parent).slice(1));
  while (!isOver) {
    for (const pid of isRunning(parent) ? workersOf(parent) : [])
      if (!known.has(pid)) process.kill(pid, 'SIGKILL');
    await sleep(20);
  }
  t.equal((await ended)[0], 1);
  t.ok(
    crew.daemon.log.some((line) => /again and again/.test(JSON.stringify(line))),
    'and say why',
  );
  t.notOk([...known].some(isRunning));
});
