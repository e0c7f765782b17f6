import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { startTestGateway } from '../../support/gateway.ts';

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
});
