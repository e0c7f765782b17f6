import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { exportsFor } from '../../src/cli/programs/shells.ts';
import { run } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { findOldNode, needProgram } from '../support/programs.ts';
import { startUpstream } from '../support/upstream.ts';
import { postern } from './support.ts';

/* From nothing to a program whose calls leave through the gateway: `init`, `serve`, `run`, `env`. */

function emptyFolder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'postern-init-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  return dir;
}

const freePorts = ['--listen', '127.0.0.1:0', '--control', '127.0.0.1:0'];

t.test('init leaves a configuration that works, and a folder that has one stays as it is', async (t) => {
  const dir = emptyFolder(t);
  const init = posternCommand(['--json', 'init', join(dir, 'gate'), ...freePorts]);
  const made = await run('sh', ['-c', 'umask 0 && exec env "$@"', 'sh', ...init]);
  t.equal(made.code, 0, made.stderr);
  for (const folder of ['gate', 'gate/policies'])
    t.equal(statSync(join(dir, folder)).mode & 0o777, 0o755, folder);
  const { config, admin_secret_file, key_file, ca } = JSON.parse(made.stdout);
  for (const file of [admin_secret_file, key_file, join(dir, 'gate/ca-key.pem')])
    t.equal(statSync(file).mode & 0o777, 0o600, file);
  const [secret, key] = [readFileSync(admin_secret_file, 'utf8'), readFileSync(key_file, 'utf8').trim()];
  t.notMatch(
    readFileSync(config, 'utf8') + made.stdout,
    new RegExp(`${secret}|${key}`),
    'no secret is in it',
  );
  const checked = await postern(['config', 'check', config]);
  t.match(checked, { code: 0, stdout: /is valid: 1 tenant, 2 policies in files/ });
  t.notMatch(checked.stdout, /warning/);
  // What is offered as a comment is as valid as the rest.
  const offered = readFileSync(config, 'utf8').replace(
    /^( *)# (?=upstream|notifications| {2}|\w+: \[|\w+: \{)/gm,
    '$1',
  );
  t.match(offered, /^notifications:\n {2}- \{/m);
  const all = join(dir, 'gate/all.yaml');
  writeFileSync(join(dir, 'gate/corporate-ca.pem'), readFileSync(ca));
  writeFileSync(all, offered);
  t.match(await postern(['config', 'check', all], { env: { SLACK_HOOK: 'https://hooks.example/x' } }), {
    code: 0,
  });
  rmSync(all);
  rmSync(join(dir, 'gate/corporate-ca.pem'));
  const before = readdirSync(join(dir, 'gate'));
  const again = await postern(['init', join(dir, 'gate')]);
  t.match(again, {
    code: 1,
    stderr: /has admin-secret, agent-key, vault-key, postern\.yaml, ca\.pem, ca-key\.pem already/,
  });
  t.same(readdirSync(join(dir, 'gate')), before);
  const refused = await postern(['init', join(dir, 'other'), '--listen', 'nowhere']);
  t.match(refused, { code: 1, stderr: /proxy\.listen: must be host:port/ });
  t.notOk(existsSync(join(dir, 'other')), 'nothing is made of options that are no configuration');
  const shared = ['--state', 'redis://:p%40ss-word@127.0.0.1:1/0', ...freePorts];
  t.match(await postern(['init', join(dir, 'shared'), ...shared]), { code: 0 });
  const ofRedis = join(dir, 'shared/redis-password');
  t.equal(readFileSync(ofRedis, 'utf8'), 'p%40ss-word', 'a password stands in a file of its own');
  t.equal(statSync(ofRedis).mode & 0o777, 0o600);
  t.match(readFileSync(join(dir, 'shared/.gitignore'), 'utf8'), /^redis-password$/m);
  const sharedConfig = join(dir, 'shared/postern.yaml');
  t.match(
    readFileSync(sharedConfig, 'utf8'),
    /url: "redis:\/\/:\$\{file:redis-password\}@127\.0\.0\.1:1\/0"/,
  );
  const shown = await postern(['--config', sharedConfig, 'config', 'show']);
  t.equal(JSON.parse(shown.stdout).state.url.nodes[0].port, 1, shown.stderr);
  const told = await postern(['init', join(dir, 'third'), ...freePorts]);
  t.match(told.stdout, /Type next:\n {2}export POSTERN_CONFIG=.*third\/postern\.yaml\n {2}postern serve/);
  t.ok(existsSync(ca));
});

t.test('explain asks with the key beside the configuration, as run does', async (t) => {
  const dir = emptyFolder(t);
  await postern(['init', dir, ...freePorts]);
  const config = join(dir, 'postern.yaml');
  await startDaemon(t, dir, ['--config', config]);
  const explained = await postern([
    '--config',
    config,
    'explain',
    'DELETE',
    'https://api.github.com/repos/a/b',
  ]);
  t.match(explained, { code: 0, stdout: /^decision +REQUIRE_APPROVAL$/m }, explained.stderr);
});

t.test('run gives each program a key of its own, and says what became of its calls', async (t) => {
  const upstream = await startUpstream(t);
  const dir = emptyFolder(t);
  await postern(['init', dir, ...freePorts]);
  const config = join(dir, 'postern.yaml');
  const reach = { allow_private: ['127.0.0.0/8'], ca_files: [upstream.caFile] };
  const resolve = [{ host: '*.test.example', address: '127.0.0.1', port: upstream.port }];
  writeFileSync(
    config,
    `${readFileSync(config, 'utf8')}upstream: ${JSON.stringify({ ...reach, resolve })}\n`,
  );
  const noDelete = { rule_id: 'no-delete', priority: 1, match: { methods: ['DELETE'] }, action: 'DENY' };
  writeFileSync(
    join(dir, 'policies/no-delete.yaml'),
    JSON.stringify({ name: 'no-delete', rules: [noDelete] }),
  );
  await startDaemon(t, dir, ['--config', config]);
  const runs = (...command: string[]) => postern(['--config', config, 'run', '--', ...command]);
  const url = 'https://api.test.example/x';

  await t.test('the key ends with the program, and the secret above all keys stays behind', async (t) => {
    const { code, stdout, stderr } = await runs('sh', '-c', 'env; exit 3');
    t.equal(code, 3);
    const [, key = ''] = /^POSTERN_KEY=(iv_eph_\w+)$/m.exec(stdout) ?? [];
    t.match(stdout, `HTTPS_PROXY=http://agent:${key}@`);
    t.notMatch(stdout, readFileSync(join(dir, 'agent-key'), 'utf8').trim());
    t.notMatch(stdout, /ADMIN_SECRET|POSTERN_CONFIG/);
    t.match(stderr, /no call has left through the gateway/);
    const after = await postern(['--config', config, 'explain', 'GET', url], { env: { POSTERN_KEY: key } });
    t.match(after, { code: 1, stderr: /does not take the key in POSTERN_KEY/ });
    const [, folder = ''] = /VMOptionsFile=(\S+)\/java-options/.exec(stdout) ?? [];
    t.ok(folder !== '' && !existsSync(folder), 'its files are gone');
  });

  await t.test('a secret of the configuration that was changed holds from the next reload on', async (t) => {
    const file = join(dir, 'admin-secret');
    const before = readFileSync(file);
    writeFileSync(file, 'another secret of thirty characters'.replaceAll(' ', '-'));
    const asked = await postern(['--config', config, 'key', 'list']);
    t.match(asked, { code: 1, stderr: /secret that .*postern\.yaml names now: one that was changed holds/ });
    writeFileSync(file, before);
  });

  await t.test('without a key of the shell, the admin secret makes one, and it ends as well', async (t) => {
    const [key, aside] = [join(dir, 'agent-key'), join(dir, 'agent-key.aside')];
    renameSync(key, aside);
    const { code, stdout, stderr } = await runs('sh', '-c', 'echo "$POSTERN_KEY"');
    renameSync(aside, key);
    t.equal(code, 0, stderr);
    t.match(stdout, /^iv_eph_\w+\n$/);
    const listed = await postern(['--config', config, '--json', 'key', 'list']);
    const { items } = JSON.parse(listed.stdout);
    t.equal(
      items.find((it: { name: string; type: string }) => it.name === 'postern run' && it.type === 'live')
        ?.status,
      'revoked',
    );
  });

  await t.test('calls are counted by what became of them', async (t) => {
    if (!needProgram(t, 'curl')) return;
    const two = `curl -s -o /dev/null ${url}; curl -s -o /dev/null -X DELETE ${url}`;
    const { stderr } = await runs('sh', '-c', two);
    t.match(stderr, /postern: 2 calls: 1 allowed, 0 sanitized, 0 held, 1 denied\./);
  });

  await t.test('a Node that honours no variable leaves through it as well', async (t) => {
    const old = await findOldNode(t);
    if (old === undefined) return;
    const script = join(dir, 'calls.cjs');
    writeFileSync(
      script,
      `const get = (url) => new Promise((done, failed) =>
        require('https').get(url, (it) => it.resume() && done(it.statusCode)).on('error', failed));
      (async () => {
        console.log(await get('${url}?by=https'), (await fetch('${url}?by=fetch')).status);
        process.exit();
      })();`,
    );
    const { stdout, stderr } = await runs(old, script);
    t.equal(stdout, '200 200\n', stderr);
    t.match(stderr, /postern: 2 calls: 2 allowed/);
  });

  await t.test('Java finds the authority in a trust store', async (t) => {
    if (!needProgram(t, 'keytool')) return;
    const listed = await runs(
      'sh',
      '-c',
      'keytool -list -storetype PKCS12 -storepass "" -keystore "$(dirname "$(echo "$JAVA_TOOL_OPTIONS" | sed s/.*=//)")/trust.p12"',
    );
    t.match(listed.stdout, /contains 1 entry[\s\S]*trustedCertEntry/, listed.stderr);
    t.notMatch(listed.stderr, /iv_eph_/, 'Java prints its variable, and no key with it');
  });
});

t.test('exports are read by each shell as they were meant', async (t) => {
  const values = { A: `it's 100% "$HOME" \\ done`, B: 'plain' };
  t.equal(
    (await run('sh', ['-c', `${exportsFor.bash(values)} printf '%s|%s' "$A" "$B"`])).stdout,
    `${values.A}|plain`,
  );
  t.equal(exportsFor.fish(values), `set -gx A 'it\\'s 100% "$HOME" \\\\ done'\nset -gx B 'plain'\n`);
  t.equal(
    exportsFor.powershell({ A: 'x\u2019; calc; \u2018' }),
    "$env:A = 'x\u2019\u2019; calc; \u2018\u2018'\n",
  );
  t.equal(exportsFor.powershell(values), `$env:A = 'it''s 100% "$HOME" \\ done'\n$env:B = 'plain'\n`);
  t.equal(exportsFor.cmd({ A: '50%' }), 'set "A=50%%"\n');
  t.throws(() => exportsFor.cmd({ A: 'a"b' }), /characters that cmd cannot hold/);
});
