import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { ConfigError, disk, loadConfig } from '../../../src/config/load.ts';
import { openLog } from '../../../src/core/log.ts';
import { loadPolicyFiles } from '../../../src/daemon/reload/policy-files.ts';
import { namesInFiles } from '../../../src/decision/trace/known-names.ts';
import { createCatalogues, ownTables } from '../../../src/tenants/catalogues.ts';
import { writeTestConfig } from '../../support/gateway.ts';

/** Loads a file of these policies as the daemon does, which has a tenant that was registered by minting; answers what it logs. */
function loaded(t: Test, ...policies: readonly object[]) {
  const { dir, configFile } = writeTestConfig(t, {
    policyFiles: { 'own.yaml': policies.map((it) => stringify(it)).join('---\n') },
    config: { notifications: [{ name: 'ops', type: 'slack', url: 'https://hooks.test/x', tenant: 'acme' }] },
  });
  const config = loadConfig(configFile, {});
  const logFile = join(dir, 'log');
  const known = namesInFiles(config, createCatalogues(config, ownTables()), ['iban'], ['minted']);
  const read = loadPolicyFiles(config, known, openLog({ level: 'warn', file: logFile }), disk);
  const count = read.flatMap((it) => it.documents).length;
  const lines = readFileSync(logFile, 'utf8').split('\n').filter(Boolean);
  return { count, warnings: lines.map((it) => JSON.parse(it)) };
}

const rule = (id: string, more: object) => ({ rule_id: id, action: 'DENY', ...more });

t.test('what policies of files cannot mean is a warning in the log, with its line', async (t) => {
  const { count, warnings } = loaded(
    t,
    { name: 'one', tenants: ['acme', 'minted', 'acmee'], rules: [rule('a', { escalate_to: 'slack' })] },
    { name: 'two', rules: [rule('b', { escalate_to: 'email', match: { tool_name: 'githb' } })] },
  );
  t.equal(count, 2, 'they are in effect all the same');
  t.match(warnings, [
    {
      file: /own\.yaml$/,
      line: 1,
      warning: 'one: the configuration has no tenant acmee; did you mean acme?',
    },
    { line: Number, warning: /^two: rule b: there is no channel of the kind email/ },
    { warning: /^two: rule b: there is no tool githb; did you mean github\?$/ },
  ]);
  t.equal(warnings.length, 3);
});

t.test('two policies of one name are told, where one tenant has both', async (t) => {
  const { count, warnings } = loaded(
    t,
    { name: 'twin', rules: [rule('a', {})] },
    { name: 'twin', rules: [rule('b', {})] },
    { name: 'twin', env_names: ['production'], rules: [rule('c', {})] },
    { name: 'apart', tenants: ['acme'], rules: [rule('d', {})] },
    { name: 'apart', tenants: ['minted'], rules: [rule('e', {})] },
  );
  t.equal(count, 5, 'they are in effect all the same');
  t.match(warnings, [{ warning: /^twin: .*own\.yaml has a policy of this name, too; both judge/ }]);
  t.equal(warnings.length, 1);
});

t.test('an environment that no tenant has is a mistake, as it is for an apply', async (t) => {
  const policy = (env_name: string) => ({ name: 'p', env_name, rules: [rule('a', {})] });
  t.throws(() => loaded(t, policy('prodution')), {
    name: ConfigError.name,
    message: /own\.yaml:2 env_name.*production/,
  });
  for (const env_name of ['production', 'default'])
    t.strictSame(loaded(t, policy(env_name)), { count: 1, warnings: [] }, env_name);
});
