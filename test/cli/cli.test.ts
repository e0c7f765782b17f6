import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { openAuthority } from '../../src/wire/tls/authority.ts';
import { run } from '../support/clients.ts';
import { type Daemon, posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, testConfig, writeTestConfig } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { startUpstream } from '../support/upstream.ts';
import { postern as command, operatorOf, posternProcess } from './support.ts';

const postern = (...args: string[]) => command(args);

const mintWith = async (daemon: Daemon): Promise<string> =>
  (await operatorOf(daemon)(['key', 'mint', '--name', 'cli', '--agent', agentId])).stdout.trim();

t.test('wrong usage is told apart from failure', async (t) => {
  t.equal((await posternProcess(['fly'])).code, 2, 'an unknown command');
  t.equal((await posternProcess(['serve', '--fast'])).code, 2, 'an unknown option');
  t.equal((await posternProcess(['--help'])).code, 0);
  t.match((await posternProcess(['--version'])).stdout, /^\d+\.\d+\.\d+/);
  const missing = await posternProcess(['--config', '/nonexistent/postern.yaml', 'serve']);
  t.equal(missing.code, 1);
  t.match(missing.stderr, /cannot be read/);
});

t.test('config check says everything that is wrong', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const good = await postern('--json', 'config', 'check', configFile);
  t.equal(good.code, 0, good.stderr);
  t.match(JSON.parse(good.stdout), { ok: true, tenants: 1, policies: 0 });

  writeFileSync(
    join(dir, 'policies', 'bad.yaml'),
    'name: x\nrules: [{ rule_id: a, match: { verb: [READ] }, action: DENY }]\n',
  );
  const badPolicy = await postern('config', 'check', configFile);
  t.equal(badPolicy.code, 1);
  t.match(badPolicy.stderr, /bad\.yaml/);
  t.match(badPolicy.stderr, /verbs/, 'and what was meant');

  writeFileSync(configFile, 'limitz: {}\nworkers: two\n');
  const bad = await postern('config', 'check', configFile);
  t.equal(bad.code, 1);
  t.match(bad.stderr, /limitz/);
  t.match(bad.stderr, /workers/);
});

t.test('config show hides secrets, and config schema knows every key', async (t) => {
  const { configFile } = writeTestConfig(t, {});
  const shown = await postern('--config', configFile, 'config', 'show');
  t.match(JSON.parse(shown.stdout), {
    control: { admin_secret: '***' },
    limits: { max_body_bytes: 262_144 },
  });
  t.notMatch(shown.stdout, adminSecret);
  const schema = JSON.parse((await postern('config', 'schema')).stdout);
  t.match(Object.keys(schema.properties), ['mode', 'proxy', 'control']);
});

t.test('what cannot be served is refused, and nothing is made', async (t) => {
  const cases = [
    {
      name: 'TLS on the control plane',
      config: { control: { tls: { cert: 'a.pem', key: 'b.pem' } } },
      says: /control\.tls/,
    },
    { name: 'workers without a state to share', config: { workers: 2 }, says: /workers/ },
  ];
  for (const { name, config, says } of cases) {
    const { dir, configFile } = writeTestConfig(t, { config });
    const ran = await postern('--config', configFile, 'serve');
    t.equal(ran.code, 1, name);
    t.match(ran.stderr, says, name);
    t.notOk(existsSync(join(dir, 'certs')), 'no authority was made');
  }
});

t.test('ca show and env speak of the daemon that the configuration describes', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const shown = await postern('--json', '--config', configFile, 'ca', 'show');
  t.match(JSON.parse(shown.stdout), {
    file: daemon.caFile,
    subject: /Postern/,
    sha256: /^([0-9A-F]{2}:){31}/,
  });
  const key = await mintWith(daemon);
  const env = await run('env', posternCommand(['--config', configFile, 'env']), { POSTERN_KEY: key });
  t.match(env.stdout, new RegExp(`export NODE_EXTRA_CA_CERTS='${daemon.caFile}'`));
  t.match(env.stdout, /export HTTPS_PROXY='http:\/\/agent:iv_live_/);
  t.match(env.stdout, `@${new URL(daemon.proxyUrl).host}'`, 'the port that was free');
  const asJson = await run('env', posternCommand(['--config', configFile, '--json', 'env']), {
    POSTERN_KEY: key,
  });
  t.match(JSON.parse(asJson.stdout), { POSTERN_CA: daemon.caFile });
  const without = await postern('--config', configFile, 'env');
  t.equal(without.code, 1);
  t.match(without.stderr, /POSTERN_KEY/);
});

t.test('run leads a command through the gateway and leaves with its exit code', async (t) => {
  const upstream = await startUpstream(t);
  const { dir, configFile } = writeTestConfig(t, { upstream });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const key = await mintWith(daemon);
  const variables = {
    POSTERN_URL: daemon.controlUrl,
    POSTERN_CA: daemon.caFile,
    HTTPS_PROXY: daemon.proxyUrl.replace('://', `://agent:${key}@`),
  };
  const leads = (...command: string[]) => run('env', posternCommand(['run', '--', ...command]), variables);
  const url = `https://api.test.example:${upstream.port}/from-run`;
  if (!needProgram(t, 'curl')) return;
  const fetched = await leads('curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', url);
  t.equal(fetched.stdout, '200', fetched.stderr);
  t.equal(upstream.requests[0]?.url, '/from-run');
  t.equal((await leads('sh', '-c', 'exit 7')).code, 7);
  const missing = await leads('no-such-program');
  t.equal(missing.code, 1);
});

t.test('config check tells what a daemon would refuse, and what it would warn of', async (t) => {
  const check = (config: Readonly<Record<string, unknown>>) =>
    postern('config', 'check', writeTestConfig(t, { config }).configFile);
  const refused = [
    { config: { workers: 2 }, says: /workers.*share.*redis/ },
    {
      config: { proxy: { require_auth: false }, tenants: [{ id: 'a' }, { id: 'acme' }] },
      says: /one tenant.*has 2/,
    },
  ];
  for (const { config, says } of refused) {
    const { code, stderr } = await check(config);
    t.equal(code, 1);
    t.match(stderr, says);
  }
  const open = await check({ proxy: { listen: '0.0.0.0:3128', require_auth: false } });
  t.equal(open.code, 0, open.stderr);
  t.match(open.stdout, /warning: .*proxy\.require_auth: .*can be reached by others/);
  const local = await check({ proxy: { listen: ['[::1]:0', '127.0.0.1:3128'], require_auth: false } });
  t.notMatch(local.stdout, /reached by others/);
});

t.test(
  'config check finds the files that a start would end with, by line and column, and makes nothing',
  async (t) => {
    const { dir, configFile } = writeTestConfig(t, {});
    const text = [
      'proxy: { listen: 127.0.0.1:0, tls: { cert: no-cert.pem, key: no-key.pem } }',
      'upstream:',
      '  ca_files:',
      '    - missing.pem',
      '    - empty.pem',
      'vault: { key_file: no-vault-key }',
      'authority: { cert: ca.pem, key: ca-key.pem }',
      'state: { url: embedded:postern.yaml/state }',
      'inbound: []',
    ];
    writeFileSync(configFile, text.join('\n'));
    writeFileSync(join(dir, 'empty.pem'), '');
    writeFileSync(join(dir, 'ca.pem'), 'a certificate');
    const before = readdirSync(dir);
    for (const args of [
      ['config', 'check', configFile],
      ['--config', configFile, 'serve'],
    ]) {
      const { code, stderr } = await postern(...args);
      t.equal(code, 1, args.join(' '));
      t.match(
        stderr,
        /line 1, column 38, proxy\.tls\.cert: the file .*no-cert\.pem cannot be read: there is no such file/,
      );
      t.match(
        stderr,
        /line 4, column 7, upstream\.ca_files\[0\]: the file .*missing\.pem cannot be read: there is no such file/,
      );
      t.match(stderr, /line 5, column 7, upstream\.ca_files\[1\]: .*empty\.pem holds no PEM certificate/);
      t.match(stderr, /line 6, column 1, vault: .*no-vault-key, the key of the vault, is not there/);
      t.match(stderr, /line 7, column 1, authority: The CA certificate .* stands without its key/);
      t.match(stderr, /line 8, column 1, state\.dir: .*postern\.yaml is no folder/);
      t.same(readdirSync(dir), before);
    }
  },
);

t.test(
  'config check warns of what has expired or soon does, of accounts of no tool, and of feeds whose files are not there',
  async (t) => {
    const { dir, configFile } = writeTestConfig(t, {});
    const longAgo = Date.parse('2010-01-01');
    const ended = openAuthority({
      certFile: join(dir, 'ended.pem'),
      keyFile: join(dir, 'ended-key.pem'),
      nowMs: longAgo,
    });
    const valid = openAuthority({
      certFile: join(dir, 'valid.pem'),
      keyFile: join(dir, 'valid-key.pem'),
      nowMs: Date.now(),
    });
    mkdirSync(join(dir, 'certs'), { recursive: true });
    openAuthority({
      certFile: join(dir, 'certs/ca.pem'),
      keyFile: join(dir, 'certs/ca-key.pem'),
      nowMs: Date.now() - 3643 * 86_400_000,
    });
    const shown = ended.issue('localhost', longAgo);
    writeFileSync(join(dir, 'shown.pem'), shown.cert);
    writeFileSync(join(dir, 'shown-key.pem'), shown.key);
    writeFileSync(join(dir, 'both.pem'), valid.certPem + ended.certPem);
    writeFileSync(join(dir, 'there.txt'), 'evil.example\n');
    mkdirSync(join(dir, 'folder'));
    const key = (name: string, expires: string, digit: string) =>
      `  - { name: ${name}, agent: ${agentId}, hash: "sha256:${digit.repeat(64)}", expires_at: "${expires}" }`;
    const text = [
      'proxy: { listen: 127.0.0.1:0, tls: { cert: shown.pem, key: shown-key.pem } }',
      'upstream: { ca_files: [ended.pem, both.pem, valid.pem] }',
      'tenants: [{ id: acme, org_accounts: { githb: [acme], phones: ["+15550100"], github: [acme] } }]',
      `agents: [{ id: ${agentId} }]`,
      'keys:',
      key('last-year', '2020-01-01T00:00:00Z', '1'),
      key('far-ahead', '2999-01-01T00:00:00Z', '2'),
      'feeds:',
      '  - { name: there, url: "file:there.txt", format: lines }',
      '  - { name: absent, url: "file:absent.txt", format: lines }',
      '  - { name: folder, url: "file:folder", format: lines }',
    ];
    writeFileSync(configFile, text.join('\n'));
    const { code, stdout, stderr } = await postern('--json', 'config', 'check', configFile);
    t.equal(code, 0, stderr);
    const { warnings } = JSON.parse(stdout);
    t.match(
      warnings.filter((it: string) => !it.startsWith('no policy file')),
      [
        /^authority\.cert: the authority expires on \d{4}-.*; "postern ca rotate" makes the next one$/,
        /^line 1, column 38, proxy\.tls\.cert: the certificate expired on 2010-.*; put a new one in its place$/,
        /^line 2, column 24, upstream\.ca_files\[0\]: its authority expired on 2019-.*; replace or remove it$/,
        /^line 2, column 35, upstream\.ca_files\[1\]: 1 of its 2 authorities have expired, .*; replace or remove them$/,
        /^line 3, column 39, tenants\[0\]\.org_accounts\.githb: there is no such tool.*; did you mean "github"\?$/,
        /^line 6, column \d+, keys\[0\]\.expires_at: the key "last-year" expired on 2020-01-01 and is refused; .*$/,
        /^line 10, column 21, feeds\[1\]\.url: .*absent\.txt cannot be read: there is no such file; until then .*$/,
        /^line 11, column 21, feeds\[2\]\.url: .*folder is not a regular file; until then .*$/,
      ],
    );
    t.equal(warnings.filter((it: string) => !it.startsWith('no policy file')).length, 8);
  },
);

t.test('config check warns of tools and environments that nothing has', async (t) => {
  const { configFile } = writeTestConfig(t, {});
  const text = [
    'tenants:',
    '  - { id: acme, environments: [prod], budgets: [{ name: b, daily: 1, match: { tool_names: [opnai, own] } }] }',
    'tools: [{ name: githb, max_body_bytes: 1MB }, { name: slack, max_body_bytes: 1MB }]',
    'notifications:',
    '  - { name: a, type: slack, url: "https://hooks.test/x", tools: [slak, slack], environments: [prd, prod] }',
    'telemetry: { otlp_headers: { api-key: x } }',
    'policies: []',
  ];
  writeFileSync(configFile, text.join('\n'));
  const { code, stdout, stderr } = await postern('--json', 'config', 'check', configFile);
  t.equal(code, 0, stderr);
  const { warnings } = JSON.parse(stdout);
  t.match(warnings, [
    /^line 6, .*telemetry\.otlp_headers: has no effect without otlp$/,
    /^line 2, .*tenants\[0\]\.budgets\[0\]\.match\.tool_names\[0\]: there is no such tool; did you mean "openai"\?$/,
    /^line 2, .*match\.tool_names\[1\]: there is no such tool/,
    /^line 3, .*tools\[0\]\.name: there is no such tool; did you mean "github"\?$/,
    /^line 5, .*notifications\[0\]\.tools\[0\]: there is no such tool; did you mean "slack"\?$/,
    /^line 5, .*notifications\[0\]\.environments\[0\]: there is no such environment; did you mean "prod"\?$/,
  ]);
  t.equal(warnings.length, 6);
});

t.test('config check and the start name the places of sockets and files that cannot be', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  mkdirSync(join(dir, 'folder.yaml'));
  writeFileSync(
    configFile,
    'proxy: { listen: 127.0.0.1:0 }\ncontrol: { listen: "unix:absent/control.sock" }\n',
  );
  const warned = await postern('config', 'check', configFile);
  t.match(warned.stdout, /warning: line 2, column 12, control\.listen: the folder .*absent does not exist/);
  const ended = await postern('--config', configFile, 'serve');
  t.match(ended.stderr, /cannot listen on .*control\.sock: the folder .*absent does not exist; make it/);
  writeFileSync(configFile, 'proxy: { listen: "192.0.2.1:0" }\ncontrol: { listen: 127.0.0.1:0 }\n');
  const elsewhere = await postern('--config', configFile, 'serve');
  t.match(elsewhere.stderr, /cannot listen on 192\.0\.2\.1:0: this machine does not have this address/);
  writeFileSync(configFile, 'proxy: { listen: 127.0.0.1:0 }\npid_file: folder.yaml\n');
  for (const args of [
    ['config', 'check', configFile],
    ['--config', configFile, 'serve'],
  ]) {
    const { code, stderr } = await postern(...args);
    t.equal(code, 1, args.join(' '));
    t.match(stderr, /line 2, column 1, pid_file: .*folder\.yaml is a folder/);
  }
  writeFileSync(configFile, 'authority: { cert: one.pem, key: one.pem }');
  const same = await postern('config', 'check', configFile);
  t.match(same.stderr, /line 1, column 1, authority: must be two files, not both .*one\.pem/);
  writeFileSync(configFile, 'policies: [folder.yaml, broken.txt]');
  writeFileSync(join(dir, 'broken.txt'), 'rules: {}');
  const { code, stderr } = await postern('config', 'check', configFile);
  t.equal(code, 1);
  t.match(stderr, /the file .*folder\.yaml cannot be read: it is not a regular file/);
  t.match(stderr, /broken\.txt/, 'what else is wrong is said as well');
});

t.test('config check says which limits of bodies are in force', async (t) => {
  const check = async (config: Readonly<Record<string, unknown>>, ...options: string[]) =>
    await postern(...options, 'config', 'check', writeTestConfig(t, { config }).configFile);
  const usual = await check({});
  t.match(usual.stdout, /^bodies: 256 KB; 64 MB at one time for an agent\.$/m);
  t.match(usual.stdout, /^bodies: up to 64 MB for .*openai/m, 'no more than all bodies of an agent have');
  t.match(usual.stdout, /^bodies: up to 32 MB for gemini\.$/m);
  const written = await check({
    limits: { max_body_bytes: '1MB' },
    tools: [{ name: 'slack', max_body_bytes: 1 }],
  });
  t.notMatch(written.stdout, /up to/);
  t.match(written.stdout, /^bodies: 1 MB by limits\.max_body_bytes, before what the catalogue knows\.$/m);
  t.match(written.stdout, /^bodies: 1 bytes by tools\.slack\.max_body_bytes/m);
  const tenants = [{ id: 'acme', environments: ['production'], limits: { max_body_bytes: '2MB' } }];
  t.match(JSON.parse((await check({ tenants }, '--json')).stdout).body_limits, {
    default_bytes: 262_144,
    total_bytes: 67_108_864,
    written: [{ path: 'tenants.acme.limits.max_body_bytes', bytes: 2_097_152 }],
  });
  const refused = await check({ limits: { max_body_bytes_total: '1MB', max_body_bytes: '2MB' } });
  t.equal(refused.code, 1);
  t.match(refused.stderr, /limits\.max_body_bytes: is more than .*raise that one, or lower this one/);
});

t.test('config check refuses a route, or a key, of an agent that a daemon would not find', async (t) => {
  const stranger = '7b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c22';
  const route = (auth: string, prefix: string) => ({
    prefix,
    auth,
    tenant: 'acme',
    agent: stranger,
    upstream: 'https://x.test.example',
  });
  const hash = `sha256:${'0'.repeat(64)}`;
  const inbound = [route('none', 'hook'), route('key', 'keyed')];
  const { configFile } = writeTestConfig(t, {
    config: { inbound, keys: [{ name: 'k', tenant: 'acme', agent: stranger, hash, permissions: ['scan'] }] },
  });
  const checked = await postern('config', 'check', configFile);
  t.equal(checked.code, 1);
  t.match(checked.stderr, /inbound\[0\]\.agent: there is no such agent/);
  t.match(checked.stderr, /keys\[0\]\.agent: there is no such agent/);
  t.notMatch(checked.stderr, /inbound\[1\]/, 'the agent of a route with keys may come later');
  const served = await postern('--config', configFile, 'serve');
  t.match(served, {
    code: 1,
    stderr: /the agent of the key ".*" stands neither in agents: nor in the state/,
  });

  const later = writeTestConfig(t, { config: { inbound: [route('key', 'keyed')] } });
  const daemon = await startDaemon(t, later.dir, ['--config', later.configFile]);
  const minted = await operatorOf(daemon)(['key', 'mint', '--name', 'x', '--agent', stranger]);
  t.equal(minted.code, 0, minted.stderr);
  writeFileSync(later.configFile, stringify(testConfig({ config: { inbound } })));
  const whileUp = await postern('config', 'check', later.configFile);
  t.match(whileUp, { code: 0, stdout: /warning: inbound\[0\]\.agent: .* cannot be told/ });
  t.equal(await daemon.end('SIGTERM'), 0);
  const known = await postern('config', 'check', later.configFile);
  t.equal(known.code, 0, known.stderr);
  t.notMatch(known.stdout, /no such agent|cannot be told/, 'the state has it');
  await startDaemon(t, later.dir, ['--config', later.configFile]);
});

t.test('a configuration that is too long says how long it may be, and what else to do', async (t) => {
  const { configFile } = writeTestConfig(t, {});
  writeFileSync(configFile, `# ${'x'.repeat(4 * 1024 * 1024)}\n`);
  const checked = await postern('config', 'check', configFile);
  t.match(checked, {
    code: 1,
    stderr: /more than 4 MB, which is the most: policies have files of their own/,
  });
});
