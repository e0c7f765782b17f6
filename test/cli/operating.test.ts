import { once } from 'node:events';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { stringify } from 'yaml';
import { stateMigrations } from '../../src/state/embedded/file/migrations.ts';
import { writeOlderState } from '../state/older-state.ts';
import { run } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, testConfig, writeTestConfig } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { until } from '../support/redis.ts';
import { operatorOf, postern, terminalProgram } from './support.ts';

/** The one of a daemon of its own where root runs the tests, else the only one there is. */
const owner = process.getuid?.() === 0 ? 54_321 : (process.getuid?.() ?? 0);
const giveToOwner = (file: string): void => chownSync(file, owner, process.getgid?.() ?? 0);
const modeOf = (file: string): number => statSync(file).mode & 0o777;

const admin = `Bearer ${adminSecret}`;
const held = { rule_id: 'ask', priority: 1, match: { methods: ['DELETE'] }, action: 'REQUIRE_APPROVAL' };

t.test('the commands of whoever runs a daemon', async (t) => {
  const setup = { policyFiles: { 'held.yaml': stringify({ name: 'held', rules: [held] }) } };
  const { dir, configFile } = writeTestConfig(t, {
    ...setup,
    config: { log: { level: 'info', file: 'log.json' } },
  });
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const operator = operatorOf(daemon);
  const here = (...args: string[]) => postern(['--config', configFile, ...args]);
  const asJson = async (args: readonly string[]) => {
    const ran = await operator(['--json', ...args]);
    t.equal(ran.code, 0, ran.stderr);
    return JSON.parse(ran.stdout);
  };
  const { key, key_id } = (
    await apiClient(daemon.controlUrl)(
      'POST',
      '/v1/keys',
      { tenant_id: 'acme', name: 'x', default_agent_id: agentId },
      admin,
    )
  ).body;

  await t.test('status says how it is, and fails where nothing answers', async (t) => {
    const { code, stdout } = await here('status');
    t.equal(code, 0);
    t.match(stdout, /status +ready\n/);
    t.match(stdout, /authority +\S+ca\.pem, valid to \d{4}-/);
    t.match(stdout, /approvals_waiting +0\n/);
    t.equal((await postern(['--url', 'http://127.0.0.1:1', 'status'])).code, 1);
  });

  await t.test('reload says which keys have changed, or the mistakes', async (t) => {
    const next = { log: { level: 'warn', file: 'log.json' }, approvals: { ttl: '5m' }, tenants: undefined };
    writeFileSync(
      configFile,
      stringify(testConfig({ config: { ...next, tenants: testConfig({})['tenants'] } })),
    );
    const taken = await here('reload');
    t.match(
      taken,
      { code: 0, stdout: /^generation 2 is in force\. Changed: .*approvals\.ttl/ },
      taken.stderr,
    );
    t.match(taken.stdout, /log\.level/);
    writeFileSync(configFile, `${stringify(testConfig({ config: next }))}limitz: {}\n`);
    const refused = await here('reload');
    t.match(refused, {
      code: 1,
      stderr: /the reload was refused; the old one stays:\n(?:.*\n)+ +line .*limitz/,
    });
    writeFileSync(
      configFile,
      stringify(testConfig({ config: { log: { level: 'info', file: 'log.json' } } })),
    );
    t.match((await here('--json', 'reload')).stdout, /"generation":3/);
  });

  await t.test('logs prints the last lines as text, from a level on', async (t) => {
    const { stdout } = await here('logs', '--lines', '1');
    t.match(stdout, /^\S+Z INFO configuration reloaded \{"generation":3,"changed":\[.*\]\}\n$/);
    t.match((await here('logs', '--level', 'error')).stdout, /^\S+Z ERROR the configuration was refused/);
    t.equal((await here('logs', '--level', 'fatal')).stdout, '');
    t.match((await here('logs')).stdout, /^\S+Z INFO started \{"version":"\d+\.\d+\.\d+","proxy":"http:/m);
  });

  await t.test('a reload moves the log and the process id, and opens a rotated log anew', async (t) => {
    const reloadWith = async (more: Readonly<Record<string, unknown>>) => {
      writeFileSync(configFile, stringify(testConfig({ config: more })));
      return here('reload');
    };
    const file = join(dir, 'log.json');
    renameSync(file, `${file}.1`);
    t.match(await reloadWith({ log: { level: 'info', file: 'log.json' }, pid_file: 'run/one' }), { code: 0 });
    const hasLine = async (path: string, line: RegExp): Promise<boolean> =>
      existsSync(path) && line.test(readFileSync(path, 'utf8'));
    const reloaded = /"generation":4,"changed":\["pid_file"\],"msg":"configuration reloaded"/;
    // The command ends with the new configuration, and the log is written behind it.
    await until('the reload in the new log', () => hasLine(file, reloaded));
    t.notMatch(readFileSync(`${file}.1`, 'utf8'), /"generation":4/, 'what was rotated is left');
    const pid = readFileSync(join(dir, 'run/one'), 'utf8');
    t.match(pid, /^\d+\n$/);
    t.match(await reloadWith({ log: { level: 'info', file: 'log/next.json' }, pid_file: 'run/two' }), {
      code: 0,
    });
    await until('the reload in the next log', () =>
      hasLine(join(dir, 'log/next.json'), /configuration reloaded/),
    );
    t.same([existsSync(join(dir, 'run/one')), readFileSync(join(dir, 'run/two'), 'utf8')], [false, pid]);
    t.match(
      await reloadWith({ log: { file: 'run/two/log' } }),
      { code: 1, stderr: /log\.file: .*run\/two/ },
      'where no log can be the file is refused',
    );
    t.match(await reloadWith({ log: { level: 'info', file: 'log.json' } }), { code: 0 });
    t.equal(existsSync(join(dir, 'run/two')), false);
  });

  await t.test('keys are edited, and make ephemeral ones', async (t) => {
    const edited = await operator(['key', 'edit', key_id, '--name', 'renamed', '--allow', '127.0.0.0/8']);
    t.equal(edited.code, 0, edited.stderr);
    t.match(await asJson(['key', 'show', key_id]), { name: 'renamed', ip_allowlist: ['127.0.0.0/8'] });
    t.match(await operator(['key', 'edit', key_id]), { code: 2, stderr: /name what to change/ });
    const made = await operator(['key', 'ephemeral', '--ttl', '90s', '--max-uses', '1'], {
      env: { POSTERN_KEY: key, SERVICE_API_KEYS_ADMIN_SECRET: '' },
    });
    t.match(made, { code: 0, stdout: /^iv_eph_\w+\n$/, stderr: /ends at \d{4}-/ });
  });

  await t.test('what the API has, commands show', async (t) => {
    const opened = await asJson(['incident', 'open', agentId, 'odd calls', '--severity', 'HIGH']);
    t.match(opened, { status: 'open', severity: 'HIGH', title: 'odd calls' });
    t.match(await asJson(['tenants', 'list']), {
      items: [{ tenant_id: 'acme', plan: 'enterprise', suspended: false }],
    });
    t.same(await asJson(['feeds', 'list']), { items: [], next_cursor: null });
    t.same((await asJson(['mcp-servers', 'list'])).items, []);
    t.match(
      (await operator(['tool', 'show', 'stripe'])).stdout,
      /hosts +api\.stripe\.com[\s\S]*create_refund/,
    );
    t.match((await operator(['stats'])).stdout, /^from +\d{4}[\s\S]*calls +\d/);
    const file = join(dir, 'route.yaml');
    writeFileSync(
      file,
      stringify({ prefix: 'hook', agent: agentId, upstream: 'https://api.example.com', auth: 'key' }),
    );
    t.match(await operator(['inbound-route', 'create', file]), {
      code: 0,
      stdout: /\/inbound\/hook\/ leads on/,
    });
    t.match(await asJson(['inbound-route', 'show', 'hook']), {
      upstream: 'https://api.example.com',
      source: 'api',
    });
    t.match(await operator(['inbound-route', 'delete', 'hook']), { code: 0 });
    t.notMatch((await here('status')).stdout, /all_agents/);
    await operator(['agent', 'suspend', '--all', '--note', 'incident 7']);
    t.match(
      (await here('status')).stdout,
      /incidents_open +1\nall_agents +suspended since \d{4}-\S+Z: incident 7\n/,
    );
    await operator(['agent', 'reactivate', '--all']);
  });

  await t.test('approval watch decides on a held call with one key', async (t) => {
    if (!needProgram(t, 'python3')) return;
    const call = {
      method: 'DELETE',
      url: 'https://api.example.com/x',
      headers: { 'X-Org-Id': '17' },
      body: { all: true },
    };
    const api = apiClient(daemon.controlUrl);
    const { approval_id } = (await api('POST', '/v1/scan', call, `Bearer ${key}`)).body;
    const script = join(dir, 'terminal.py');
    writeFileSync(script, terminalProgram);
    const watched = await run(
      'python3',
      [script, '[q]uit', 'd', 'env', ...posternCommand(['approval', 'watch', '--once'])],
      { POSTERN_URL: daemon.controlUrl, SERVICE_API_KEYS_ADMIN_SECRET: adminSecret },
    );
    t.match(watched.stdout, /https:\/\/api\.example\.com\/x/);
    t.match(watched.stdout, /body_preview +\{"all":true\}\r?\n/);
    t.match(watched.stdout, /covers\.once +One call.*and the headers “X-Org-Id: 17”/);
    t.match(watched.stdout, `${approval_id} is denied.`);
    t.match((await api('GET', `/v1/approvals/${approval_id}`, undefined, admin)).body, { status: 'denied' });
    t.match(await operator(['approval', 'watch']), { code: 2, stderr: /needs a terminal/ });
  });

  await t.test('a backup is made while it runs, and restored where it fits', async (t) => {
    const folder = join(dir, 'saved');
    const made = await here('backup', folder);
    t.equal(made.code, 0, made.stderr);
    const saved = readdirSync(join(folder, 'state')).filter((it) => it.includes('.db'));
    t.strictSame(saved.sort(), ['state.db', 'traces.db'], 'each database is one file');
    for (const name of saved) t.equal(modeOf(join(folder, 'state', name)), 0o600, name);
    t.match(await here('backup', folder), { code: 1, stderr: /is there already/ });
    t.match(await here('restore', folder), { code: 1, stderr: /has a state already; stop the daemon/ });
    t.match((await here('upgrade', '--check')).stdout, /A start changes nothing/);
    t.equal(await daemon.end('SIGTERM'), 0);
    renameSync(join(dir, 'data'), join(dir, 'old'));
    rmSync(join(dir, 'certs'), { recursive: true });
    // As a unit with DynamicUser has it: a link to a folder of the daemon's user.
    mkdirSync(join(dir, 'private'));
    giveToOwner(join(dir, 'private'));
    symlinkSync('private', join(dir, 'data'));
    const list = join(folder, 'backup.json');
    const listed = readFileSync(list, 'utf8');
    const newer = { ...JSON.parse(listed), schema: stateMigrations.length + 1, version: '9.9.9' };
    writeFileSync(list, JSON.stringify(newer));
    t.match(await here('restore', folder), { code: 1, stderr: /of Postern 9\.9\.9.*Install the newer one/ });
    writeFileSync(list, listed);
    const pepper = readFileSync(join(folder, 'state/pepper'));
    writeFileSync(join(folder, 'state/pepper'), 'changed');
    t.match(await here('restore', folder), { code: 1, stderr: /pepper is not what the backup has listed/ });
    t.strictSame(readdirSync(join(dir, 'data')), [], 'nothing is half restored');
    writeFileSync(join(folder, 'state/pepper'), pepper);
    // A kill may have left a part of a restore behind.
    mkdirSync(join(dir, 'private/.restoring'));
    writeFileSync(join(dir, 'private/.restoring/pepper'), 'half');
    const { ino } = statSync(join(dir, 'private'));
    const restored = await here('restore', folder);
    t.equal(restored.code, 0, restored.stderr);
    t.match(restored.stderr, /keys that were revoked since then are valid again/);
    t.ok(lstatSync(join(dir, 'data')).isSymbolicLink(), 'the link stays');
    t.equal(statSync(join(dir, 'private')).ino, ino, 'the folder stays: it may be a volume');
    t.notOk(existsSync(join(dir, 'private/.restoring')));
    const verifiedAlone = await here('audit', 'verify');
    t.match(verifiedAlone, { code: 0, stderr: /the state itself is read/ });
    for (const name of readdirSync(join(dir, 'private'), { recursive: true, encoding: 'utf8' }))
      t.equal(statSync(join(dir, 'private', name)).uid, owner, `the daemon's user owns ${name}`);
    const again = await startDaemon(t, dir, ['--config', configFile]);
    const scanned = await apiClient(again.controlUrl)(
      'POST',
      '/v1/scan',
      { method: 'GET', url: 'https://api.example.com/' },
      `Bearer ${key}`,
    );
    t.equal(scanned.status, 200, 'its keys are valid');
    const verified = await here('audit', 'verify');
    t.match(verified, { code: 0, stdout: /none altered or missing/ });
    await again.end('SIGTERM');

    rmSync(join(dir, 'data'));
    renameSync(join(dir, 'private'), join(dir, 'now'));
    cpSync(join(dir, 'now'), join(dir, 'data'), { recursive: true, filter: (it) => !/\.db/.test(it) });
    writeOlderState(join(dir, 'now'), join(dir, 'data'), { 'state.db': 9, 'traces.db': 5 });
    t.match(await here('upgrade', '--check'), {
      code: 0,
      stdout: /schema 9, this version has \d+\n.*schema 5[\s\S]*A start migrates the state in \d+ steps/,
    });
    const migrated = await startDaemon(t, dir, ['--config', configFile]);
    t.match(
      await apiClient(migrated.controlUrl)('GET', `/v1/keys/${key_id}`, undefined, admin),
      { status: 200, body: { name: 'renamed' } },
      'a state of an earlier version is brought up to date by a start',
    );
    t.match(await here('audit', 'verify'), { code: 0, stdout: /none altered or missing/ });
    await migrated.end('SIGTERM');
    t.match((await here('upgrade', '--check')).stdout, /A start changes nothing/);

    const state = new DatabaseSync(join(dir, 'data/state.db'));
    state.exec(`PRAGMA user_version = ${stateMigrations.length + 1}`);
    t.match(await here('upgrade', '--check'), {
      code: 1,
      stdout: /of a newer version, which alone can open it/,
    });
    t.match(await here('serve'), {
      code: 1,
      stderr: /schema version \d+, and this version of Postern knows/,
    });
    state.exec(`PRAGMA user_version = ${stateMigrations.length}`);
    state.close();
  });

  await t.test('an authority is changed in three steps, in which clients trust both', async (t) => {
    const certFile = join(dir, 'certs/ca.pem');
    const count = () => readFileSync(certFile, 'utf8').match(/BEGIN CERTIFICATE/g)?.length;
    const fingerprint = async () => JSON.parse((await here('--json', 'ca', 'show')).stdout).sha256;
    const old = await fingerprint();
    for (const name of readdirSync(join(dir, 'certs'))) giveToOwner(join(dir, 'certs', name));
    t.match(await here('ca', 'rotate', '--switch'), { code: 1, stderr: /there is no next authority/ });
    t.match(await here('ca', 'rotate'), { code: 0, stdout: /has both/ });
    t.equal(count(), 2);
    t.equal(await fingerprint(), old, 'the old one signs');
    t.match(await here('ca', 'rotate', '--switch'), { code: 0, stdout: /Restart the daemon/ });
    t.equal(count(), 2);
    t.not(await fingerprint(), old);
    for (const name of ['ca.pem', 'ca-key.pem'])
      t.equal(statSync(join(dir, 'certs', name)).uid, owner, `the daemon's user owns ${name}`);
    const restarted = await startDaemon(t, dir, ['--config', configFile]);
    await restarted.end('SIGTERM');
    t.match(await here('ca', 'rotate', '--finish'), { code: 0 });
    t.equal(count(), 1);
    t.match(
      (await here('ca', 'export')).stdout,
      /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n$/,
    );
    if (!needProgram(t, 'certutil')) return;
    const nss = join(dir, 'nss');
    mkdirSync(nss);
    t.match(await here('ca', 'trust', '--nss', nss), { code: 0, stdout: /is trusted by what uses/ });
    t.match((await run('certutil', ['-d', `sql:${nss}`, '-L'])).stdout, /postern-[0-9a-f]{16} +C,,/);
    t.match(await here('ca', 'trust', '--nss', nss, '--remove'), { code: 0 });
    t.notMatch((await run('certutil', ['-d', `sql:${nss}`, '-L'])).stdout, /postern-/);
  });
});

t.test('status asks a daemon again that has just begun to listen', async (t) => {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    if (asked < 3) socket.resetAndDestroy();
    else socket.end('HTTP/1.1 503 \r\nContent-Length: 2\r\n\r\n{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.match(await postern(['--url', url, 'status']), { code: 1, stdout: /status +starting/ });
});

t.test('shells complete commands, and man reads the manual page', async (t) => {
  const completed = await run('bash', [
    '-c',
    'source <("$@"); COMP_WORDS=(postern key ""); COMP_CWORD=2; _postern; declare -p COMPREPLY',
    'bash',
    'env',
    ...posternCommand(['completion', 'bash']),
  ]);
  t.match(completed.stdout, /"mint".*"ephemeral".*"edit".*"--json"/, completed.stderr);
  t.equal((await postern(['completion', 'tcsh'])).code, 2);
  const page = await postern(['man']);
  t.match(page.stdout, /^\.TH POSTERN 1[\s\S]*\.SS "approval watch/);
  if (!needProgram(t, 'groff')) return;
  const read = await run('sh', [
    '-c',
    '"$@" | groff -man -Tutf8 -ww',
    'sh',
    'env',
    ...posternCommand(['man']),
  ]);
  t.equal(read.stderr, '');
});
