import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { startGateway } from '../../../src/daemon/gateway.ts';
import { run } from '../../support/clients.ts';
import { isRunning, workersOf } from '../../support/crew.ts';
import { posternCommand, startDaemon } from '../../support/daemon.ts';
import { apiClient, startTestGateway, writeTestConfig } from '../../support/gateway.ts';
import { findOldNode, needProgram } from '../../support/programs.ts';
import { type RedisServer, startRedis, startRedisCluster, until } from '../../support/redis.ts';

const postern = resolve(import.meta.dirname, '../../../bin/postern');

/** Takes a port for the test; undefined where another program has it, which is as good. */
async function take(t: Test, port: number): Promise<number | undefined> {
  const server = createServer();
  t.teardown(() => void server.close());
  const taken = Promise.race([once(server, 'listening'), once(server, 'error')]);
  server.listen(port, '127.0.0.1');
  await taken.catch(() => undefined);
  const address = server.address();
  return typeof address === 'object' ? address?.port : undefined;
}

/** `postern serve` as a script starts it, with its log; it ends with the test. */
function serve(t: Test, configFile: string) {
  const child = spawn('env', posternCommand(['--config', configFile, '--json', 'serve']), {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const said: string[] = [];
  const logged = (text: string): Promise<void> =>
    until(text, async () => said.some((line) => line.includes(text)));
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const ready = Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error(`it has ended: ${said.join('\n')}`))),
  ]);
  ready.catch(() => undefined);
  return { ended: ended.then(([code]) => code), ready, said, logged };
}

/** A free port, for a daemon that shall be reached before it has written down where it listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

const readyz = async (port: number): Promise<number> =>
  (await apiClient(`http://127.0.0.1:${port}`)('GET', '/readyz', undefined, '')).status;

t.test('a start that finds its port taken leaves nothing behind', async (t) => {
  const empty = mkdtempSync(join(tmpdir(), 'postern-start-'));
  t.teardown(() => rmSync(empty, { recursive: true }));
  const port = await take(t, 0);
  const inFolder = ['-c', 'cd "$1" && shift && "$@"', 'sh', empty, 'env'];
  const asked = ['serve', '--control', `127.0.0.1:${port}`];
  const first = await run('sh', [...inFolder, ...posternCommand(asked)]);
  t.match(first, { code: 1, stderr: /is taken by another program/ }, 'a first start that names it');
  t.same(readdirSync(empty), []);

  const { dir, configFile } = writeTestConfig(t, { config: { control: { listen: `127.0.0.1:${port}` } } });
  const before = readdirSync(dir);
  const second = await run('env', posternCommand(['--config', configFile, 'serve']));
  t.match(second, { code: 1, stderr: /is taken by another program/ }, 'one with a configuration');
  t.same(readdirSync(dir), before);
});

t.test('a first start takes the next free ports, says so, and later starts stay there', async (t) => {
  const empty = mkdtempSync(join(tmpdir(), 'postern-start-'));
  t.teardown(() => rmSync(empty, { recursive: true }));
  for (const folder of ['bin', 'src/cli']) mkdirSync(join(empty, folder), { recursive: true });
  writeFileSync(join(empty, 'bin/postern'), 'another program');
  await take(t, 8080);
  await take(t, 8081);
  const serveHere = async (...args: string[]) => {
    const child = spawn('env', posternCommand(['serve', ...args]), {
      cwd: empty,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    t.teardown(() => void child.kill('SIGKILL'));
    const said: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
    await until('it says what is next', async () => said.some((it) => /Next:|Type next/.test(it)));
    child.kill('SIGTERM');
    await ended;
    return said.join('\n');
  };
  const ready = /proxy (\S+), control (\S+),/;
  const first = await serveHere();
  t.match(first, /Port 8080 is taken by another program; the proxy listens on \d+ instead/);
  t.match(first, /Port 8081 is taken by another program; the control plane listens on \d+ instead/);
  const [, proxyUrl = '', controlUrl = ''] = ready.exec(first) ?? [];
  const exports = () => readFileSync(join(empty, 'data/first-start.env'), 'utf8');
  t.match(exports(), `POSTERN_URL='${controlUrl}'`);
  t.match(exports(), `@${new URL(proxyUrl).host}'`);
  const moved = await serveHere('--listen', '127.0.0.1:0', '--control', '127.0.0.1:0');
  const [, movedProxy = '', movedControl = ''] = ready.exec(moved) ?? [];
  t.not(movedControl, controlUrl);
  t.match(moved, /"postern run -- CMD"/, 'a program that only has the name is not named');
  t.match(exports(), `POSTERN_URL='${movedControl}'`, 'the exports follow');
  t.match(exports(), `@${new URL(movedProxy).host}'`);
  // Only root can give a file away.
  if (process.getuid?.() !== 0) return;
  chownSync(join(empty, 'data/first-start.env'), 4242, 4242);
  const planted = await run('env', ['-C', empty, ...posternCommand(['serve'])]);
  t.match(planted, { code: 1, stderr: /first-start\.env belongs to another user/ });
});

t.test('a daemon that is alone with its configuration', async (t) => {
  const { dir, configFile } = writeTestConfig(t, { config: { pid_file: './run/here/postern.pid' } });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const file = join(dir, 'run/here/postern.pid');

  await t.test('its process file may be in a folder that is not there yet', async (t) => {
    t.equal(readFileSync(file, 'utf8'), `${daemon.process.pid}\n`);
  });

  await t.test(
    'it runs with the flags and the environment of a gate, as the process that was started',
    async (t) => {
      if (process.platform !== 'linux') return;
      const read = (name: string) => readFileSync(`/proc/${daemon.process.pid}/${name}`, 'utf8').split('\0');
      const args = read('cmdline');
      t.ok(
        args.indexOf('--max-semi-space-size=16') < args.indexOf('--no-turbofan'),
        'flags of its caller win',
      );
      t.equal(args.filter((it) => it === '--max-semi-space-size=16').length, 1);
      for (const it of ['MALLOC_ARENA_MAX=2', 'MALLOC_MMAP_THRESHOLD_=131072'])
        t.ok(read('environ').includes(it));
    },
  );

  await t.test('a second daemon of the same configuration names the process of the first', async (t) => {
    const same = ['--control', new URL(daemon.controlUrl).host];
    const second = await run('env', posternCommand(['--config', configFile, 'serve', ...same]));
    t.match(second, { code: 1, stderr: /listening\.json names the process \d+/ });
    t.equal(readFileSync(file, 'utf8'), `${daemon.process.pid}\n`, 'and leaves the process file as it is');
  });

  await t.test('what an older Node has handed over is the second half of nobody else', async (t) => {
    const env = { POSTERN_REEXEC: '1' };
    const checked = await run('env', posternCommand(['--config', configFile, 'config', 'check']), env);
    t.equal(checked.code, 0, 'the variable alone ends nothing');
    const old = await findOldNode(t);
    if (old === undefined || needProgram(t, 'env') === undefined) return;
    const { controlUrl, caFile, proxyUrl } = daemon;
    const shell = { POSTERN_URL: controlUrl, POSTERN_CA: caFile, HTTPS_PROXY: proxyUrl };
    const command = [postern, 'run', '--', old, postern, '--version'];
    const nested = await run('env', ['-u', 'NODE_OPTIONS', '-u', 'POSTERN_CONFIG', old, ...command], shell);
    t.match(nested, { code: 0, stdout: /^\d+\.\d+\.\d+/ }, 'nor does a command of run inherit it');
  });

  await daemon.end('SIGTERM');
  t.notOk(existsSync(file), 'the process file goes with the daemon');
});

t.test('a state whose folder cannot be made ends the start at once', async (t) => {
  // A file system that answers ENOENT to whoever makes a folder, and one whose folders belong to others.
  const { configFile } = writeTestConfig(t, { config: { state: { url: 'embedded:/proc/no-such/state' } } });
  const under = await run('env', posternCommand(['--config', configFile, 'serve']));
  t.match(under, { code: 1, stderr: /the folder \/proc\/no-such cannot be made/ });
  if (!needProgram(t, 'setpriv')) return;
  const { dir, configFile: ofOthers } = writeTestConfig(t, { config: { state: { url: 'embedded:./none' } } });
  chmodSync(dir, 0o755);
  chownSync(dir, 65534, 65534);
  // Still the user who may enter the folder of the checkout, wherever that is.
  const bounded = [
    '--bounding-set=-dac_override,-dac_read_search',
    '--inh-caps=-dac_override,-dac_read_search',
  ];
  const refused = await run('setpriv', [
    ...bounded,
    'env',
    ...posternCommand(['--config', ofOthers, 'serve']),
  ]);
  t.match(refused, { code: 1, stderr: /state\.dir: .* may not be written by this user/ });
});

t.test('a start without the pepper of its keys is refused, and its state stays as it was', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.stop();
  const pepper = join(gateway.dir, 'data/pepper');
  renameSync(pepper, `${pepper}.away`);
  await t.rejects(startGateway(gateway.configFile, {}), {
    message: /data\/pepper is gone, without which no key/,
  });
  t.notOk(existsSync(pepper), 'no other was made');

  renameSync(`${pepper}.away`, pepper);
  const again = await startGateway(gateway.configFile, {});
  t.teardown(() => again.stop(1000));
  const asked = { method: 'GET', url: 'https://api.example.com/' };
  const { status } = await apiClient(again.controlUrl)('POST', '/v1/scan', asked, `Bearer ${gateway.key}`);
  t.equal(status, 200, 'its keys are valid');
});

t.test('a Redis that refuses the password is said to do so, at once', async (t) => {
  const redis = await startRedis(t);
  if (!redis) return;
  await redis.command('CONFIG', 'SET', 'requirepass', 'the-right-one');
  const { host, port } = redis;
  const cases = [
    { url: `redis://:wrong@${host}:${port}/0`, says: /Redis answers WRONGPASS: the user or the password/ },
    { url: `redis://${host}:${port}/0`, says: /Redis answers NOAUTH: it wants a password/ },
  ];
  for (const { url, says } of cases) {
    const { configFile } = writeTestConfig(t, {
      config: { log: { level: 'warn' }, state: { url, dir: './local' } },
    });
    const served = await run('env', posternCommand(['--config', configFile, 'serve']));
    t.match(served, { code: 1, stderr: says });
    t.notMatch(served.stderr, 'wrong@');
    t.match(served.stderr, /^postern: [^\n]+\n$/, 'in one sentence, and nothing else');
  }
});

const onRedis = ({ host, port }: RedisServer, sections: Readonly<Record<string, unknown>> = {}) => ({
  log: { level: 'warn' },
  state: { url: `redis://${host}:${port}/0`, dir: './local', timeout: '1s' },
  ...sections,
});
const goesOn = 'the state does not answer; the start goes on trying';

for (const workers of [1, 2]) {
  t.test(`a start of ${workers} processes goes on once a Redis that is away is back`, async (t) => {
    const redis = await startRedis(t);
    if (!redis) return;
    await redis.kill();
    const control = await freePort();
    const config = onRedis(redis, { workers, control: { listen: `127.0.0.1:${control}` } });
    const { configFile } = writeTestConfig(t, { config });
    const daemon = serve(t, configFile);
    await daemon.logged(goesOn);
    t.equal(await readyz(control), 503, 'meanwhile it says that it is not ready');
    if (workers === 1)
      t.match(await run('env', posternCommand(['--config', configFile, 'status'])), {
        code: 1,
        stdout: /^control +http:\S+\nstatus +starting: it listens/,
      });
    await redis.start();
    await daemon.ready;
    t.equal(await readyz(control), 200);
  });

  t.test(
    `a start of ${workers} processes ends with a code where a master of a cluster stays stopped`,
    async (t) => {
      const cluster = await startRedisCluster(t);
      if (!cluster) return;
      // The others go on answering, so that a client is ready, and stumbles later.
      for (const master of cluster.masters)
        await master.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
      const [, stopped] = cluster.masters;
      stopped?.pause();
      t.teardown(() => stopped?.resume());
      const nodes = cluster.masters.map(({ host, port }) => `${host}:${port}`).join(',');
      const { configFile } = writeTestConfig(t, {
        config: {
          workers,
          log: { level: 'warn' },
          state: { url: `redis+cluster://${nodes}`, dir: './local', timeout: '300ms' },
        },
      });
      const daemon = serve(t, configFile);
      t.equal(await daemon.ended, 1);
      t.match(daemon.said.join('\n'), goesOn, 'it has said that it tries');
      t.match(daemon.said.at(-1) ?? '', /"message":"(?:The state|Redis at .+) does not answer/);
    },
  );
}

t.test(
  'under an older Node the daemon ends with the process that was started, however that ends',
  async (t) => {
    const old = await findOldNode(t);
    if (old === undefined || needProgram(t, 'env') === undefined) return;
    const { configFile } = writeTestConfig(t, {});
    // The test runner puts options into the environment of each Node, and an older one fails over them.
    const command = ['-u', 'NODE_OPTIONS', old, postern, '--config', configFile, '--json', 'serve'];
    const parent = spawn('env', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const early = once(parent, 'exit').then(([code]) =>
      Promise.reject(new Error(`it has ended with ${code}`)),
    );
    early.catch(() => undefined);
    const [line] = await Promise.race([once(createInterface({ input: parent.stdout }), 'line'), early]);
    const { pid } = JSON.parse(String(line));
    t.teardown(() => isRunning(pid) && process.kill(pid, 'SIGKILL'));
    t.same(workersOf(parent.pid ?? 0), [pid], 'the daemon is its child');
    parent.kill('SIGKILL');
    await until('the daemon is gone', async () => !isRunning(pid));
    t.pass('and is gone with it');
  },
);
