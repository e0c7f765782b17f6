import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { denyDeletes, startTestGateway } from '../../support/gateway.ts';

t.test('a reload names files that cannot be read, by setting and place, and without a stack', async (t) => {
  const log = join(t.testdir({}), 'log');
  const gateway = await startTestGateway(t, { config: { log: { level: 'warn', file: log } } });
  const { dir, configFile } = gateway;
  const config = parse(readFileSync(configFile, 'utf8'));
  const lastError = async () => (await gateway.api('GET', '/readyz')).body.config.last_error;
  writeFileSync(configFile, stringify({ ...config, upstream: { ca_files: ['absent.pem'] } }));
  t.equal(await gateway.reload(), false);
  t.match(
    await lastError(),
    /line \d+, column \d+, upstream\.ca_files\[0\]: the file .*absent\.pem cannot be read: there is no such file/,
  );
  mkdirSync(join(dir, 'policies', 'folder.yaml'), { recursive: true });
  writeFileSync(configFile, stringify({ ...config, policies: ['policies/*.yaml'] }));
  t.equal(await gateway.reload(), false);
  t.match(await lastError(), /the file .*folder\.yaml cannot be read: it is not a regular file/);
  t.notMatch(readFileSync(log, 'utf8'), '"stack"');
  rmSync(join(dir, 'policies', 'folder.yaml'), { recursive: true });
  const pipe = join(dir, 'policies', 'pipe.yaml');
  t.equal(spawnSync('mkfifo', [pipe]).status, 0);
  t.equal(await gateway.reload(), false, 'nobody waits for a pipe that nobody writes to');
  t.match(await lastError(), /the file .*pipe\.yaml cannot be read: it is not a regular file/);
  rmSync(pipe);
  t.equal(await gateway.reload(), true);
});

t.test('a reload in the middle of writing a policy file leaves its policies in force', async (t) => {
  const text = stringify({ name: 'p', rules: [denyDeletes] });
  const gateway = await startTestGateway(t, { policyFiles: { 'p.yaml': text } });
  const file = join(gateway.dir, 'policies', 'p.yaml');
  const decision = async () => {
    const call = { method: 'DELETE', url: 'https://api.test.example/x' };
    return (await gateway.api('POST', '/v1/scan', call)).body.decision;
  };
  t.equal(await decision(), 'DENY');
  for (const empty of ['', ' \n']) {
    writeFileSync(file, empty);
    t.equal(await gateway.reload(), false, JSON.stringify(empty));
    t.equal(await decision(), 'DENY');
  }
  t.match((await gateway.api('GET', '/readyz')).body.config.last_error, /p\.yaml: is empty, and was not/);
  writeFileSync(file, '# not any more\n');
  t.equal(await gateway.reload(), true);
  t.equal(await decision(), 'ALLOW');
  writeFileSync(file, text);
  t.equal(await gateway.reload(), true);
  t.equal(await decision(), 'DENY');
});

t.test('a policy file that has always been empty is no mistake', async (t) => {
  const gateway = await startTestGateway(t, { policyFiles: { 'p.yaml': '' } });
  t.equal(await gateway.reload(), true);
});

t.test(
  'of many reloads at once none begins but the first and one that reads all that came before',
  async (t) => {
    const gateway = await startTestGateway(t, { policyFiles: { 'p.yaml': '' } });
    const generation = async () => (await gateway.api('GET', '/readyz')).body.config.generation;
    const asked = Array.from({ length: 50 }, () => gateway.reload());
    writeFileSync(join(gateway.dir, 'policies', 'p.yaml'), stringify({ name: 'p', rules: [denyDeletes] }));
    asked.push(gateway.reload());
    t.strictSame([...new Set(await Promise.all(asked))], [true]);
    t.equal(await generation(), 2, 'those that were asked for in one turn are one');
    const first = gateway.reload();
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, ...Array.from({ length: 50 }, () => gateway.reload())]);
    t.equal(await generation(), 4);
    const call = { method: 'DELETE', url: 'https://api.test.example/x' };
    t.match((await gateway.api('POST', '/v1/scan', call)).body, { decision: 'DENY' });
  },
);

t.test('a daemon that ends in the middle of a reload refuses nothing', async (t) => {
  const log = join(t.testdir({}), 'log');
  const gateway = await startTestGateway(t, { config: { log: { level: 'warn', file: log } } });
  const reloading = gateway.reload();
  await gateway.stop();
  await reloading;
  t.equal(await gateway.reload(), false);
  t.notMatch(readFileSync(log, 'utf8'), /"level":50/);
});
