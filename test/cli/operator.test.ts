import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keyDigest } from '../../src/core/key-text.ts';
import { run } from '../support/clients.ts';
import { posternCommand, startDaemon } from '../support/daemon.ts';
import { agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { operatorOf, postern } from './support.ts';

/* One daemon, and everything that its operator does with the command line. */

const { dir, configFile } = writeTestConfig(t, {});
const daemon = await startDaemon(t, dir, ['--config', configFile]);
const operator = operatorOf(daemon);

async function json<T = Record<string, never>>(args: readonly string[], env = {}): Promise<T> {
  const ran = await operator(['--json', ...args], { env });
  if (ran.code !== 0) throw new Error(`${args.join(' ')} ended with ${ran.code}: ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

const mint = async (...args: string[]): Promise<string> =>
  (await operator(['key', 'mint', '--name', 'agent', '--agent', agentId, ...args])).stdout.trim();

const key = await mint();
const asAgent = { POSTERN_KEY: key };
const explain = (url: string, ...args: string[]) =>
  json<Record<string, string>>(['explain', 'GET', url, ...args], asAgent);

/** A call that is made, of which things follow. */
async function scan(url: string): Promise<Record<string, string>> {
  const api = apiClient(daemon.controlUrl);
  return (await api('POST', '/v1/scan', { method: 'GET', url }, `Bearer ${key}`)).body;
}

function writePolicy(name: string, ...documents: object[]): string {
  const file = join(dir, name);
  writeFileSync(file, documents.map((it) => JSON.stringify(it)).join('\n---\n'));
  return file;
}

const rule = (action: string, url: string) => ({
  rule_id: 'r',
  match: { url_patterns: [url] },
  condition: {},
  action,
});

t.test('a key is minted, looked at, used and revoked', async (t) => {
  const minted = await operator(['key', 'mint', '--name', 'ci', '--expires', '2099-01-01T00:00:00Z']);
  const text = minted.stdout.trim();
  t.match(text, /^iv_live_[0-9A-Za-z]{49}$/, 'nothing else stands on standard output');
  t.notMatch(minted.stderr, text);

  const { items } = await json<{ items: Record<string, string>[] }>(['key', 'list', '--limit', '1']);
  t.match(items, [{ name: 'ci', permissions: ['scan'], expires_at: '2099-01-01T00:00:00.000Z' }]);
  const keyId = String(items[0]?.['key_id']);
  const shown = await operator(['key', 'show', keyId]);
  t.match(shown.stdout, /^status +active$/m);
  t.notMatch(shown.stdout, text);
  t.match((await operator(['key', 'list'])).stdout, new RegExp(`^${keyId}  iv_live_.*  ci `, 'm'));
  t.match((await operator(['key', 'list', '--limit', '1'])).stderr, /There is more: --cursor \S+$/m);
  const ofKind = async (...kind: string[]) => {
    const ran = await operator(['--json', 'key', 'list', ...kind]);
    return {
      ids: JSON.parse(ran.stdout).items.map((it: Record<string, string>) => it['key_id']),
      note: ran.stderr,
    };
  };
  t.ok((await ofKind('--type', 'live', '--status', 'active')).ids.includes(keyId));
  t.notOk((await ofKind('--type', 'ephemeral')).ids.includes(keyId));
  t.notOk((await ofKind('--status', 'revoked')).ids.includes(keyId));
  const cut = await ofKind('--type', 'live', '--limit', '1');
  t.same([cut.ids, cut.note], [[keyId], 'There are more than 1: --limit\n']);
  t.match(await operator(['key', 'list', '--type', 'live', '--cursor', 'x']), {
    code: 2,
    stderr: /--cursor goes without/,
  });

  t.equal((await explain('https://x.test/', '--header', 'x-a: b'))['decision'], 'ALLOW');
  t.match((await operator(['key', 'revoke', keyId])).stdout, /is revoked/);
  const refused = await operator(['explain', 'GET', 'https://x.test/'], { env: { POSTERN_KEY: text } });
  t.equal(refused.code, 1);
  t.match(refused.stderr, /INVALID_KEY/);
});

t.test('minting says all that is wrong', async (t) => {
  const ran = await operator([
    ...['key', 'mint', '--name', 'x', '--agent', agentId, '--permission', 'scan', '--permission', 'fly'],
    ...['--allow', '10.0.0.0/99', '--per-minute', '0'],
  ]);
  t.equal(ran.code, 2);
  for (const option of ['--permission', '--allow', '--per-minute'])
    t.match(ran.stderr, new RegExp(`^error: ${option} `, 'm'));
  const limits = await mint(
    '--per-minute',
    '5',
    '--require-nonce',
    '--allow',
    '10.0.0.0/8',
    '--env',
    'production',
  );
  t.match(limits, /^iv_live_/);
  const { items } = await json<{ items: unknown[] }>(['key', 'list', '--limit', '1']);
  t.match(items, [{ per_minute: 5, require_nonce: true, ip_allowlist: ['10.0.0.0/8'] }]);
});

t.test('key generate makes a key and its hash without a daemon', async (t) => {
  const { key, hash } = JSON.parse((await postern(['key', 'generate', '--json'])).stdout);
  t.match(key, /^iv_live_[0-9A-Za-z]{49}$/);
  t.equal(hash, `sha256:${keyDigest(key)}`);
  t.match(
    (await postern(['key', 'generate'])).stdout,
    /^key {3}iv_live_\w{49}\nhash {2}sha256:[0-9a-f]{64}\n$/,
  );
});

t.test('an agent is suspended and reactivated', async (t) => {
  t.match((await operator(['agent', 'list'])).stdout, new RegExp(`^${agentId}  .*active`, 'm'));
  t.match((await operator(['agent', 'suspend', agentId, '--note', 'it ran wild'])).stdout, /is suspended/);
  t.match(await explain('https://x.test/'), { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'] });
  t.match((await operator(['agent', 'reactivate', agentId])).stdout, /is active/);
  t.match(await json(['agent', 'reset-trust', agentId]), { agent_id: agentId, trust_score: 1 });
  t.equal((await explain('https://x.test/'))['decision'], 'ALLOW');
  const unknown = await operator(['agent', 'suspend', randomUUID()]);
  t.equal(unknown.code, 1);
  t.match(unknown.stderr, /There is no such agent/);
  const minted = await json(['key', 'mint', '--name', 'by-beginning', '--agent', agentId.slice(0, 6)]);
  t.equal(minted['default_agent_id'], agentId, 'the beginning of an id is enough for an option, too');
  t.match(await operator(['trace', 'list', '--agent', 'ffff']), {
    code: 1,
    stderr: /there is no agent whose id begins with ffff/,
  });
  t.match(await operator(['agent', 'suspend', 'support-bot']), {
    code: 1,
    stderr: /"support-bot" is no id; name the agent by/,
  });
});

t.test('all agents of a tenant are suspended and reactivated', async (t) => {
  const suspended = await operator(['agent', 'suspend', '--all', '--tenant', 'acme', '--note', 'a breach']);
  t.match(suspended.stdout, /^The agents of acme are all suspended\.$/m);
  t.match((await operator(['agent', 'list'])).stderr, /suspended with their tenant/);
  t.match(await explain('https://x.test/'), { decision: 'DENY', reason_codes: ['AGENT_SUSPENDED'] });
  t.match(await json(['agent', 'reactivate', '--all']), { tenant_id: 'acme', status: 'active' });
  t.equal((await explain('https://x.test/'))['decision'], 'ALLOW');
  for (const wrong of [['suspend'], ['suspend', agentId, '--all'], ['reset-trust', agentId, '--all']]) {
    const ran = await operator(['agent', ...wrong]);
    t.equal(ran.code, 2, wrong.join(' '));
  }
  t.equal((await explain('https://x.test/'))['decision'], 'ALLOW', 'what is unclear suspends nobody');
});

t.test('recorded calls are scored by other weights', async (t) => {
  const weights = ['--weights', 'classifier=0.5, semantic=0', '--bands', 'MEDIUM=0.3', '--limit', '10'];
  const ran = await operator(['risk', 'replay', ...weights, '--agent', agentId]);
  t.equal(ran.code, 0, ran.stderr);
  t.match(ran.stdout, /^band +before +after\nLOW +\d+ +\d+\nMEDIUM +\d/);
  t.match(ran.stderr, /^\d+ calls: \d+ change, \d+ cannot be told\.$/m);
  t.match(await json(['risk', 'replay', '--trace', randomUUID()]), { traces: 1, undetermined: 1 });
  for (const [list, code, message] of [
    ['classifier', 2, /classifier=0\.5,semantic=0/],
    ['classifier=2', 2, /--weights \(classifier\) must be/],
    ['nobody=1', 2, /is no engine; there are/],
  ] as const) {
    const refused = await operator(['risk', 'replay', '--weights', list]);
    t.equal(refused.code, code, list);
    t.match(refused.stderr, message);
  }
});

t.test('a held call is approved or denied, once', async (t) => {
  const policy = { name: 'held', rules: [rule('REQUIRE_APPROVAL', 'https://held.test/')] };
  t.equal((await operator(['policy', 'apply', writePolicy('held.yaml', policy)])).code, 0);
  const hold = async (url: string): Promise<string> => String((await scan(url))['approval_id']);

  const first = await hold('https://held.test/a');
  t.match((await operator(['approval', 'list', '--status', 'pending'])).stdout, first);
  const shown = await json<{ agent_id: string; tool_name: string }>(['approval', 'show', first]);
  t.match(shown, { approval_id: first, url: 'https://held.test/a', findings: [] });
  t.match((await operator(['approval', 'show', first])).stdout, /^body_bytes +0$/m);
  const listed = (...filter: string[]) => json(['approval', 'list', ...filter]);
  const own = ['--agent', shown.agent_id, '--tool', shown.tool_name];
  t.match(await listed(...own), { items: [{ approval_id: first }] });
  t.match(await listed('--agent', first), { items: [] }, 'of another agent');
  t.match(await listed('--tool', 'github'), { items: [] }, 'of another tool');
  t.match(await json(['approval', 'approve', first, '--window', '--note', 'fine']), {
    status: 'approved',
    scope: 'window',
    note: 'fine',
    decided_by: 'admin',
  });
  t.match(await scan('https://held.test/a'), {
    decision: 'ALLOW',
    reason_codes: ['RECENT_APPROVAL_GRANT'],
  });
  const second = await operator(['approval', 'deny', first]);
  t.equal(second.code, 1);
  t.match(second.stderr, /is approved already.*CONFLICT/);

  const other = await hold('https://held.test/b');
  t.equal((await operator(['approval', 'deny', other])).stdout, `${other} is denied.\n`);
  t.match(await scan('https://held.test/b'), {
    decision: 'DENY',
    reason_codes: ['RECENT_APPROVAL_DENIAL'],
  });
  t.match(await json(['approval', 'list', '--status', 'pending']), { items: [] });
  // Figures come from traces, which are written behind their calls.
  await until('figures', async () => /^agents +support-bot \d+/m.test((await operator(['stats'])).stdout));
});

t.test('an incident is looked into and closed with a code', async (t) => {
  const policy = { name: 'alarm', rules: [rule('OPEN_INCIDENT', 'https://alarm.test/')] };
  t.equal((await operator(['policy', 'apply', writePolicy('alarm.yaml', policy)])).code, 0);
  const { trace_id: traceId } = await scan('https://alarm.test/');
  let id = '';
  await until('an incident', async () => {
    const { items } = await json<{ items: Record<string, string>[] }>([
      'incident',
      'list',
      '--status',
      'open',
    ]);
    id = String(items[0]?.['incident_id'] ?? '');
    return id !== '';
  });
  const shown = (await operator(['incident', 'show', id])).stdout;
  t.match(shown, new RegExp(`^\\S+Z +trace +${agentId} +${traceId}$`, 'm'));
  t.match(shown, /^at +kind +by +what\n\S+Z +opened +gateway/m);
  t.match((await operator(['incident', 'note', id, 'seen'])).stdout, /The note stands in/);
  t.equal(
    (await operator(['incident', 'transition', id, 'investigating'])).stdout,
    `${id} is investigating.\n`,
  );
  const codeless = await operator(['incident', 'transition', id, 'closed']);
  t.equal(codeless.code, 2);
  t.match(codeless.stderr, /^error: --code is needed to close an incident/);
  const close = ['incident', 'transition', id, 'closed', '--code', 'false_positive', '--note', 'a test'];
  t.match(await json(close), {
    status: 'closed',
    close_code: 'false_positive',
    notes: [{ text: 'seen' }, { text: 'a test' }],
  });
  t.match(
    (await operator(['incident', 'transition', id, 'closed', '--code', 'policy_gap'])).stderr,
    /CONFLICT/,
  );
});

t.test('an output that cannot be written is a failure', async (t) => {
  if (!existsSync('/dev/full')) return t.pass('this system has no device that is full');
  const ran = await run('sh', [
    '-c',
    '"$@" > /dev/full',
    'sh',
    'env',
    ...posternCommand(['key', 'generate']),
  ]);
  t.equal(ran.code, 1);
  t.match(ran.stderr, /cannot be written/);
});

t.test('a credential comes from standard input or a file, and is never shown', async (t) => {
  const secret = randomUUID();
  const file = join(dir, 'secret');
  writeFileSync(file, `${secret}\n`);
  t.match(
    (await operator(['credential', 'set', 'bot'], { input: secret })).stdout,
    /^bot is set\. Calls carry it once /,
  );
  t.equal((await operator(['credential', 'rotate', 'bot', '--file', file])).stdout, 'bot is rotated.\n');
  const basic = ['credential', 'set', 'mail', '--type', 'basic'];
  t.equal((await operator(basic, { input: secret })).code, 2, 'the user name is missing');
  t.equal((await operator([...basic, '--username', 'me'], { input: secret })).code, 0);
  const headers = ['credential', 'set', 'head', '--type', 'headers', '--fields'];
  const fields = JSON.stringify({ values: { 'x-a': secret } });
  t.equal((await operator(headers, { input: fields })).code, 0);
  const torn = await operator(headers, { input: fields.slice(1) });
  t.equal(torn.code, 1);
  t.notMatch(torn.stderr, secret);
  const listed = await operator(['credential', 'list']);
  t.match(listed.stdout, /^bot +bearer +acme /m);
  t.match(listed.stdout, /^mail +basic +acme /m);
  t.notMatch(listed.stdout, secret);
  t.match((await operator(['credential', 'set', 'x'])).stderr, /the secret is empty/);
  writeFileSync(file, 'x'.repeat(131_073));
  t.match((await operator(['credential', 'set', 'x', '--file', file])).stderr, /more than 131072 bytes/);
  t.equal((await operator(['credential', 'revoke', 'bot'])).stdout, 'bot is revoked.\n');
  t.match((await operator(['credential', 'rotate', 'bot'], { input: secret })).stderr, /no credential bot/);
});

t.test('usage and explain speak to people', async (t) => {
  t.match((await operator(['usage'])).stdout, /^scans_used +[1-9]\d*$/m);
  const body = JSON.stringify({ to: 'someone', text: `mail to ${'jane'}@${'example.com'}` });
  const ran = await operator(['explain', 'POST', 'https://x.test/', '-'], { env: asAgent, input: body });
  t.match(ran.stdout, /^decision +ALLOW$/m);
  t.match(ran.stdout, /^explanation +.*PII/ms);
  t.equal((await operator(['explain', 'GET', 'not a url'], { env: asAgent })).code, 2);
  t.equal((await operator(['explain', 'GET', 'https://x.test/', '--header', 'x'], { env: asAgent })).code, 2);
});

t.test('wrong usage of a command that asks is told apart from a refusal', async (t) => {
  const wrong = [
    ['key'],
    ['key', 'show'],
    ['key', 'mint', '--expires', 'soon'],
    ['key', 'list', '--limit', 'many'],
    ['approval', 'list', '--status', 'lost'],
    ['credential', 'set', 'x', '--type', 'oauth'],
    ['trace', 'list', '--fast'],
  ];
  for (const args of wrong) t.equal((await operator(args)).code, 2, args.join(' '));
  t.equal((await operator(['key', 'list', '--limit', '1001'])).code, 2);
});

t.test('the daemon of a configuration is found without a URL', async (t) => {
  const found = await operator(['--config', configFile, 'usage'], { env: { POSTERN_URL: '' } });
  t.equal(found.code, 0, found.stderr);
});
