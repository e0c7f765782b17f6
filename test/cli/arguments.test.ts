import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { run } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { adminSecret, agentId, apiClient, testConfig, writeTestConfig } from '../support/gateway.ts';
import { needProgram } from '../support/programs.ts';
import { operatorOf, postern, posternProcess, startHere, terminalProgram } from './support.ts';

t.test('an unknown command is wrong usage, and the nearest one is named', async (t) => {
  const cases = [
    { args: ['serv'], says: /unknown command 'serv'\n\(Did you mean serve\?\)/ },
    { args: ['key', 'mnt'], says: /unknown command 'mnt'\n\(Did you mean mint\?\)/ },
    { args: ['help', 'kee'], says: /unknown command 'kee'\n\(Did you mean key\?\)/ },
    { args: ['help', 'key', 'mnt'], says: /unknown command 'mnt'\n\(Did you mean mint\?\)/ },
  ];
  for (const { args, says } of cases) {
    const { code, stdout, stderr } = await postern(args);
    t.equal(code, 2, args.join(' '));
    t.match(stderr, says);
    t.equal(stdout, '');
  }
});

t.test('the help of a command in a group is its own, with examples and exit codes', async (t) => {
  const asked = await postern(['help', 'key', 'mint']);
  const own = await postern(['key', 'mint', '--help']);
  t.equal(asked.code, 0);
  t.equal(asked.stdout, own.stdout);
  t.match(asked.stdout, /^Usage: postern key mint/);
  t.match(asked.stdout, /Examples:\n {2}export POSTERN_KEY=/);
  t.match(asked.stdout, /Exit codes: 0 done/);
  t.match((await postern(['help'])).stdout, /^Usage: postern /);
});

t.test('a help whose reader is gone ends without a word', async (t) => {
  const help = ['env', ...posternCommand(['help', 'key', 'mint'])];
  const ran = await run('bash', ['-c', 'set -o pipefail; "$@" | true', 'bash', ...help]);
  t.same([ran.code, ran.stderr], [0, '']);
});

t.test('with --json an error is JSON, whoever found it', async (t) => {
  const wrong = await posternProcess(['--json', 'fly']);
  t.equal(wrong.code, 2);
  t.match(JSON.parse(wrong.stderr), { error: { code: 'USAGE', message: /unknown command 'fly'/ } });
  const missing = await posternProcess(['--json', '--config', '/nonexistent/postern.yaml', 'serve']);
  t.equal(missing.code, 1);
  t.match(JSON.parse(missing.stderr), { error: { code: 'FAILED', message: /cannot be read/ } });
  const behind = await posternProcess(['key', 'mint', '--', '--json']);
  t.match(behind.stderr, /^error: /, 'what stands behind -- is no option');
});

t.test('commands of an operator', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const daemon = await startHere(t, configFile);
  const operator = operatorOf(daemon);

  await t.test(
    'a mistake in an argument is wrong usage, said once, by the option that was typed',
    async (t) => {
      const cases = [
        { args: ['key', 'mint', '--agent', 'xyz'], says: 'error: --agent must be a UUID\n' },
        {
          args: ['key', 'mint', '--expires', 'tomorrow'],
          says: "error: option '--expires <time>' argument 'tomorrow' is invalid. It must be as 30m, 1h, 7d, 2030-01-31 or 2030-01-31T12:00:00Z.\n",
        },
        { args: ['key', 'list', '--limit', '5000'], says: 'error: --limit must be at most 1000\n' },
        {
          args: ['incident', 'transition', '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11', 'gone'],
          says: 'error: status must be one of investigating, closed\n',
        },
      ];
      for (const { args, says } of cases) {
        const { code, stderr } = await operator(args);
        t.equal(code, 2, args.join(' '));
        t.equal(stderr, says);
      }
      const asJson = await operator(['--json', 'key', 'list', '--limit', '5000']);
      t.match(JSON.parse(asJson.stderr), {
        error: { code: 'USAGE', message: '--limit must be at most 1000' },
      });
      const absent = await operator(['--json', 'key', 'show', '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99']);
      t.equal(absent.code, 1);
      t.match(JSON.parse(absent.stderr), { error: { code: 'NOT_FOUND' } });
    },
  );

  await t.test('a key has a name without --name, and an end of life that is told as a span', async (t) => {
    const minted = await operator(['--json', 'key', 'mint', '--agent', agentId, '--expires', '1d'], {
      env: { USER: 'ana' },
    });
    t.equal(minted.code, 0, minted.stderr);
    const { key_id } = JSON.parse(minted.stdout);
    const shown = JSON.parse((await operator(['--json', 'key', 'show', key_id])).stdout);
    t.match(shown.name, /^ana \d{4}-\d\d-\d\d \d\d:\d\d$/);
    t.ok(Date.parse(shown.expires_at) > Date.now());
    t.ok(Date.parse(shown.expires_at) <= Date.now() + 86_400_000);
  });

  await t.test('the beginning of an id is enough where it is the only one', async (t) => {
    const { key_id } = JSON.parse((await operator(['--json', 'key', 'mint', '--agent', agentId])).stdout);
    const shown = await operator(['--json', 'key', 'show', key_id.slice(0, 8)]);
    t.equal(JSON.parse(shown.stdout).key_id, key_id);
    const none = await operator(['key', 'show', 'ffffffffffff']);
    t.equal(none.code, 1);
    t.match(none.stderr, /no key whose id begins with ffffffffffff/);
  });

  await t.test('times may be spans and dates', async (t) => {
    for (const from of ['1h', '2026-11-23', '2026-11-23T10:00:00Z']) {
      const listed = await operator(['--json', 'trace', 'list', '--from', from]);
      t.equal(listed.code, 0, listed.stderr);
    }
    t.equal((await operator(['trace', 'list', '--from', '1 hour'])).code, 2);
  });

  await t.test('the log of an unknown tenant is not verified', async (t) => {
    const { code, stderr } = await operator(['audit', 'verify', '--tenant', 'nobody']);
    t.equal(code, 1);
    t.match(stderr, /no such tenant/);
  });

  await t.test('a table in a terminal fits it, and a secret that is typed is not shown', async (t) => {
    if (!needProgram(t, 'python3')) return;
    const script = join(dir, 'terminal.py');
    writeFileSync(script, terminalProgram);
    const inTerminal = (typed: string, ...args: string[]) =>
      run(
        'env',
        [
          '-u',
          'NO_COLOR',
          '-u',
          'FORCE_COLOR',
          '-u',
          'CI',
          'python3',
          script,
          'not shown',
          typed,
          'env',
          ...posternCommand(args),
        ],
        {
          POSTERN_URL: daemon.controlUrl,
          SERVICE_API_KEYS_ADMIN_SECRET: adminSecret,
          TERM: 'xterm-256color',
        },
      );
    const listed = await inTerminal('', 'key', 'list');
    const lines = listed.stdout.replaceAll(escapes, '').trimEnd().split(/\r?\n/);
    t.ok(lines.length > 1, listed.stdout);
    for (const line of lines) t.ok([...line].length <= 60, line);
    t.match(listed.stdout, escapes, 'with colours');
    const set = await inTerminal('typed-secret-4711\n', 'credential', 'set', 'typed');
    t.match(set.stdout, /typed is set/);
    t.notMatch(set.stdout, /4711/);
  });
});

t.test('no tenant of that name is in the state of a daemon that is down', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  await daemon.end('SIGTERM');
  const { code, stderr } = await postern(['--config', configFile, 'audit', 'verify', '--tenant', 'nobody']);
  t.equal(code, 1);
  t.match(stderr, /there is no tenant nobody/);
});

t.test('commands work without the variables of the daemon', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  // The secret and a variable that only the daemon has.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the daemon puts the variable in.
  const config = { ...testConfig({}), pid_file: '${env:ONLY_OF_THE_DAEMON}' };
  writeFileSync(configFile, stringify(config));
  process.env['ONLY_OF_THE_DAEMON'] = join(dir, 'pid');
  await startDaemon(t, dir, ['--config', configFile]);
  delete process.env['ONLY_OF_THE_DAEMON'];
  const listed = await postern(['--config', configFile, 'key', 'list']);
  t.equal(listed.code, 0, listed.stderr);
});

t.test('a daemon is reached while its file is being mended', async (t) => {
  const { dir, configFile } = writeTestConfig(t, {});
  const daemon = await startDaemon(t, dir, ['--config', configFile]);
  const { key_id } = (
    await apiClient(daemon.controlUrl)(
      'POST',
      '/v1/keys',
      { tenant_id: 'acme', name: 'x', default_agent_id: agentId },
      `Bearer ${adminSecret}`,
    )
  ).body;
  const sound = readFileSync(configFile, 'utf8');
  const { proxy, ...others } = testConfig({});
  const broken = { ...others, proxy: { ...Object(proxy), lissten: 1 }, limitz: {}, workers: 'many' };
  writeFileSync(configFile, stringify(broken));
  const here = (...args: string[]) => posternProcess(['--config', configFile, ...args]);
  const revoked = await here('key', 'revoke', key_id);
  t.match(revoked, { code: 0, stderr: /postern\.yaml has mistakes, which "postern config check" names/ });
  await here('reload');
  const { code, stdout } = await here('status');
  t.equal(code, 0);
  const lines = stdout.split('\n').map((it) => it.trim());
  for (const path of ['proxy.lissten', 'limitz', 'workers'])
    t.ok(
      lines.some((it) => it.startsWith('line ') && it.includes(`, ${path}: `)),
      `${path}: a line for each`,
    );
  writeFileSync(configFile, `${sound}\n  a: [`);
  t.match(
    await here('status'),
    { code: 1, stderr: /has .*mistake/ },
    'nothing is guessed of a file that is no YAML',
  );
});

/** What a terminal obeys. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const escapes = /\u001b\[[0-9;]*m/g;
