import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { agentId, apiClient, writeTestConfig } from '../support/gateway.ts';
import { operatorOf, postern, startHere } from './support.ts';

/* Policy as code: files, what can be said of them without a daemon, and how they come to be in effect. */

const fromFile = stringify({
  name: 'from-file',
  rules: [{ rule_id: 'r', match: { url_patterns: ['https://file.test/'] }, action: 'DENY' }],
});
const { dir, configFile } = writeTestConfig(t, {
  policyFiles: { 'own.yaml': fromFile },
  config: {
    tenants: [
      {
        id: 'acme',
        plan: 'enterprise',
        environments: ['production', 'staging'],
        budgets: [{ name: 'mails', daily: 5 }],
      },
    ],
    notifications: [{ name: 'ops', type: 'slack', url: 'https://hooks.test/x', events: ['feed.failed'] }],
    tools: [{ name: 'tracker', sensitive: true }],
  },
});
const daemon = await startHere(t, configFile);
const operator = operatorOf(daemon);
mkdirSync(join(dir, 'code'));

const fileOf = (name: string): string => join(dir, 'code', name);

/** Writes texts as they are and values as YAML, divided by lines of three dashes; answers the path. */
function write(name: string, ...documents: readonly (string | object)[]): string {
  const texts = documents.map((it) => (typeof it === 'string' ? it : stringify(it)));
  writeFileSync(fileOf(name), texts.join('---\n'));
  return fileOf(name);
}

async function json<T = Record<string, never>>(args: readonly string[]): Promise<T> {
  const ran = await operator(['--json', ...args]);
  if (ran.code !== 0) throw new Error(`${args.join(' ')} ended with ${ran.code}: ${ran.stderr}`);
  return JSON.parse(ran.stdout);
}

const rule = (action: string, url: string, id = 'r') => ({
  rule_id: id,
  match: { url_patterns: [url] },
  action,
});

t.test('validate names file, line, path and what was meant, without a daemon', async (t) => {
  const first = write(
    'first.yaml',
    'name: good\nrules:\n  - { rule_id: a, action: DENY }\n',
    '# the second one\nname: bad\nrules:\n  - rule_id: a\n    action: DENYY\n    condition: { has_dataclass: [PII] }\n',
  );
  const second = write('second.yaml', 'name: x\nmode: loud\nrules: []\n');
  const ran = await postern(['policy', 'validate', first, second]);
  t.equal(ran.code, 1);
  const lines = ran.stdout.trimEnd().split('\n');
  t.match(lines[0], new RegExp(`^${first}:9: rules\\[0\\]\\.action: .*DENY`));
  t.match(
    lines[1],
    new RegExp(`^${first}:10: rules\\[0\\]\\.condition\\.has_dataclass: .*did you mean has_data_class`),
  );
  t.match(lines[2], new RegExp(`^${second}:2: mode: `));
  t.match(lines[3], new RegExp(`^${second}:3: rules: `));
  t.equal(lines.length, 4);

  const asJson = await postern(['--json', 'policy', 'validate', second]);
  t.equal(asJson.code, 1);
  t.match(JSON.parse(asJson.stdout), {
    valid: false,
    policies: [],
    errors: [
      { file: second, line: 2, path: 'mode' },
      { line: 3, path: 'rules' },
    ],
  });
});

t.test('validate tells what is valid, and what may not do what it seems to', async (t) => {
  const file = write(
    'valid.yaml',
    { name: 'one', env_names: ['production', 'staging'], rules: [rule('DENY', 'https://a.test/')] },
    { name: 'two', rules: [{ rule_id: 'all', action: 'DENY' }, rule('ALLOW', 'https://b.test/', 'never')] },
  );
  const ran = await postern(['policy', 'validate', file]);
  t.equal(ran.code, 0, ran.stderr);
  t.match(
    ran.stdout,
    new RegExp(`^${file}:\\d+: warning: two: rule never: is never reached.*\n3 policies are valid\\.\n$`),
  );
  t.match(JSON.parse((await postern(['policy', 'validate', file, '--json'])).stdout), {
    valid: true,
    policies: [
      { file, name: 'one', env_name: 'production', rules: 1 },
      { name: 'one', env_name: 'staging' },
      { name: 'two', env_name: null, rules: 2 },
    ],
    warnings: [{ file, message: /never reached/ }],
  });
  const input = JSON.stringify({ name: 'in', rules: [rule('DENY', 'https://a.test/')] });
  t.equal((await postern(['policy', 'validate', '-'], { input })).stdout, '1 policy is valid.\n');
});

t.test('validate knows the names of a configuration that is given', async (t) => {
  const escalating = { ...rule('DENY', 'https://a.test/'), escalate_to: 'teams' };
  const capped = { rule_id: 'b', condition: { daily_budget_exceeded: 'calls' }, action: 'DENY' };
  const told = { ...rule('DENY', 'https://b.test/', 'c'), escalate_to: 'slack' };
  const file = write('names.yaml', { name: 'n', rules: [escalating, capped, told] });
  const elsewhere = write('elsewhere.yaml', { name: 'n', env_name: 'prodution', rules: [escalating] });
  t.equal((await postern(['policy', 'validate', file, elsewhere])).code, 0, 'nobody else knows them');

  const known = await postern(['--config', configFile, 'policy', 'validate', file]);
  t.equal(known.code, 0);
  t.match(known.stdout, /there is no channel of the kind teams/);
  t.notMatch(known.stdout, /the kind slack/, 'of that there is one');
  t.match(known.stdout, /there is no budget calls/);
  const strange = await postern(['--config', configFile, 'policy', 'validate', elsewhere]);
  t.equal(strange.code, 1);
  t.match(strange.stdout, /elsewhere\.yaml:2: env_name: .*did you mean production/);
  const tenant = await postern(['--config', configFile, 'policy', 'validate', file, '--tenant', 'globex']);
  t.match(tenant, { code: 1, stderr: /no tenant globex/ });
});

t.test('validate knows the tools, with a configuration also those that it names', async (t) => {
  const tools = ['githb', 'tracker', 'github'].map((tool_name) => ({
    rule_id: tool_name,
    match: { tool_name },
    action: 'DENY',
  }));
  const file = write('tools.yaml', { name: 'n', tenants: ['acmee'], rules: tools });
  const warned = async (args: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await postern([...args, '--json', 'policy', 'validate', file]);
    return JSON.parse(stdout).warnings.map(({ message }: { message: string }) => message);
  };
  const misspelt = 'n: rule githb: there is no tool githb; did you mean github?';
  t.strictSame(await warned([]), [misspelt, 'n: rule tracker: there is no tool tracker']);
  t.strictSame(await warned(['--config', configFile]), [
    'n: the configuration has no tenant acmee; did you mean acme?',
    misspelt,
  ]);
});

t.test('a policy file that is none is refused', async (t) => {
  const levels = Array.from({ length: 8 }, (_, i) => `l${i + 1}: &l${i + 1} [${`*l${i}, `.repeat(9)}]`);
  const twice = { name: 'twice', env_name: 'staging', rules: [rule('DENY', 'https://a.test/')] };
  writeFileSync(fileOf('latin.yaml'), Buffer.from('name: caf\xe9\n', 'latin1'));
  const cases = [
    { file: write('broken.yaml', 'name: [x\nrules: }'), says: 'broken\\.yaml:2:\\d+: ' },
    { file: write('bomb.yaml', `l0: &l0 [x]\n${levels.join('\n')}\n`), says: 'bomb\\.yaml:2:10: aliases' },
    {
      file: write('many.yaml', '{}\n---\n'.repeat(1001)),
      says: 'many\\.yaml:2000:1: .*more than 1000 documents',
    },
    {
      file: write('large.yaml', `# ${'x'.repeat(4 * 1024 * 1024)}`),
      says: 'large\\.yaml: .*more than 4194304 bytes',
    },
    { file: write('empty.yaml', '# nothing\n'), says: 'empty\\.yaml: has no policy' },
    {
      file: write('twice.yaml', twice, twice),
      says: 'twice\\.yaml: twice \\(staging\\) stands in .* already',
    },
    { file: fileOf('nothing.yaml'), says: 'nothing\\.yaml: cannot be read: there is no such file' },
    { file: dir, says: 'cannot be read: it is a directory' },
    { file: fileOf('latin.yaml'), says: 'latin\\.yaml: is not UTF-8' },
    {
      file: write('deep.yaml', `name: x\nrules: ${'['.repeat(20_000)}`),
      says: 'deep\\.yaml:2:\\d+: .*too deep',
    },
    {
      // Comparing each key with all others takes minutes.
      file: write(
        'keys.yaml',
        `${Array.from({ length: 100_000 }, (_, at) => `k${at}: 1\n`).join('')}k7: 2\n`,
      ),
      says: 'keys\\.yaml:100001:1: this key stands here twice',
    },
    { file: write('steering.yaml', 'name: x\n"\\e[2J": 1\nrules: []\n'), says: '\\\\u\\{1b\\}' },
  ];
  const ran = await postern(['policy', 'validate', ...cases.map(({ file }) => file)]);
  t.equal(ran.code, 1);
  for (const { file, says } of cases) t.match(ran.stdout, new RegExp(`^.*${says}`, 'm'), file);
  for (const verb of ['apply', 'diff'])
    t.match(
      await operator(['policy', verb, fileOf('broken.yaml')]),
      { code: 1, stderr: /broken\.yaml:2:\d+: / },
      verb,
    );
  t.same(
    await json(['policy', 'diff', '--all', write('alone.yaml', { name: 'alone', rules: twice.rules })]),
    {
      changes: [
        {
          change: 'added',
          name: 'alone',
          env_name: null,
          keys: [],
          rules: [{ change: 'added', rule_id: 'r', keys: [] }],
        },
      ],
    },
  );
});

t.test('policies of files are applied together or not at all', async (t) => {
  const good = { name: 'first', rules: [rule('ALLOW', 'https://first.test/')] };
  const mixed = write('mixed.yaml', good, { ...good, name: 'second', env_name: 'nowhere' });
  const ran = await operator(['policy', 'apply', mixed]);
  t.equal(ran.code, 1);
  t.match(ran.stderr, /^postern: .*mixed\.yaml: second \(nowhere\): env_name: /);
  const dry = ['policy', 'apply', '--dry-run', '--exit-code'];
  t.equal((await operator([...dry, mixed])).code, 1, 'a dry run finds the same');

  const both = write('both.yaml', good, { ...good, name: 'second', env_names: ['staging', 'production'] });
  const would = await operator([...dry, both]);
  t.equal(would.code, 3);
  t.equal(
    would.stdout,
    [
      ['+ policy first', '  + rule r'],
      ['+ policy second (production)', '  + rule r'],
      ['+ policy second (staging)', '  + rule r', ''],
    ]
      .flat()
      .join('\n'),
  );
  t.equal((await operator(['policy', 'show', 'first'])).code, 1, 'nothing was applied');
  t.equal((await operator(['policy', 'apply', '--dry-run', both])).code, 0);

  const applied = await operator(['policy', 'apply', both]);
  t.equal(applied.code, 0, applied.stderr);
  t.equal(
    applied.stdout,
    'first is applied: version 1.\nsecond (staging) is applied: version 1.\nsecond (production) is applied: version 1.\n',
  );
  t.match((await operator(['policy', 'list'])).stdout, /^second +staging +1 +enforce +1 /m);
  t.match(await json(['policy', 'by-name', 'second', '--env', 'staging']), { env_name: 'staging' });
  t.match(await operator([...dry, both]), { code: 0, stdout: 'Nothing differs.\n' });
  const input = JSON.stringify({ ...good, rules: [{ ...good.rules[0], priority: 100, condition: {} }] });
  t.match(await operator(['policy', 'apply', '-'], { input }), { code: 0, stdout: 'Nothing differs.\n' });
  t.match(await json(['policy', 'show', 'first']), { version: 1 });
  t.equal((await operator(['policy', 'apply', '--exit-code', both])).code, 2);
});

t.test('diff speaks of policies, rules and keys', async (t) => {
  const before = {
    name: 'diffed',
    description: 'as it was',
    rules: [
      { ...rule('DENY', '', 'a'), match: { verbs: ['READ', 'WRITE'], url_patterns: ['https://a.test/'] } },
      rule('DENY', 'https://b.test/', 'b'),
    ],
  };
  const file = write('diffed.yaml', before);
  t.equal((await operator(['policy', 'apply', file])).code, 0);
  t.equal((await operator(['policy', 'diff', '--exit-code', file])).code, 0);
  const after = {
    ...before,
    mode: 'monitor',
    rules: [
      {
        ...rule('ALLOW', '', 'a'),
        tag: 'x',
        match: { verbs: ['WRITE', 'READ'], url_patterns: ['https://a.test/'] },
      },
      rule('DENY', 'https://c.test/', 'c'),
    ],
  };
  const ran = await operator(['policy', 'diff', '--exit-code', write('diffed.yaml', after)]);
  t.equal(ran.code, 3);
  t.equal(
    ran.stdout,
    [
      '~ policy diffed',
      '  mode: "enforce" -> "monitor"',
      '  ~ rule a',
      '    action: "DENY" -> "ALLOW"',
      '    tag: none -> "x"',
      '  + rule c',
      '  - rule b',
      '',
    ].join('\n'),
  );
  t.equal((await operator(['policy', 'diff', file])).code, 0, 'a difference is no failure');
  t.match(await json(['policy', 'diff', file]), {
    changes: [
      {
        change: 'changed',
        name: 'diffed',
        keys: [{ key: 'mode', before: 'enforce', after: 'monitor' }],
        rules: [{ rule_id: 'a', keys: [{ key: 'action' }, { key: 'tag', after: 'x' }] }, {}, {}],
      },
    ],
  });
  const all = await operator(['policy', 'diff', '--all', file]);
  t.match(all.stdout, /^- policy first$/m, 'what no file has');
  t.notMatch(all.stdout, /from-file/, 'but for what could not be applied');
});

t.test('what stands in a file of the configuration is changed there', async (t) => {
  const file = write('overriding.yaml', { name: 'from-file', rules: [rule('ALLOW', 'https://file.test/')] });
  for (const args of [[], ['--dry-run']]) {
    const ran = await operator(['policy', 'apply', file, ...args]);
    t.equal(ran.code, 1);
    t.match(ran.stderr, /policy file/);
  }
});

t.test('a file for certain tenants is applied for none other', async (t) => {
  const file = write('theirs.yaml', {
    name: 'theirs',
    tenants: ['acme'],
    rules: [rule('DENY', 'https://a.test/')],
  });
  t.match(await operator(['policy', 'apply', file]), { code: 1, stderr: /name the one with --tenant/ });
  t.match(await operator(['policy', 'apply', file, '--tenant', 'globex']), {
    code: 1,
    stderr: /not for the tenant/,
  });
  t.match(await operator(['policy', 'apply', file, '--tenant', 'acme']), { code: 0, stdout: /version 1/ });
});

t.test('test judges cases without a daemon', async (t) => {
  write('cases-policy.yaml', {
    name: 'cases',
    rules: [
      { ...rule('DENY', 'https://api.github.com/repos/acme/app/*', 'no-app'), reason_code: 'NO_APP' },
      {
        rule_id: 'slow-writes',
        match: { verbs: ['WRITE'] },
        condition: { risk_score_gt: 0.5 },
        action: 'REQUIRE_APPROVAL',
      },
    ],
  });
  const call = { method: 'POST', url: 'https://api.github.com/repos/acme/app/issues', body: { title: 'x' } };
  const denied = { name: 'denies', call, expect: { decision: 'DENY', reasons: ['NO_APP'], rule: 'no-app' } };
  const other = { ...call, url: 'https://api.github.com/repos/acme/other/issues' };
  const risky = { ...other, facts: { risk_score: 0.6 } };
  const held = { name: 'holds', call: risky, expect: { decision: 'REQUIRE_APPROVAL', rule: 'slow-writes' } };
  const passed = { name: 'passes', call: other, expect: { decision: 'ALLOW', rule: null } };
  const policies = ['cases-policy.yaml'];
  write('own-tool.yaml', {
    name: 'own',
    rules: [{ rule_id: 'no-export', match: { operations: ['export_ledger'] }, action: 'DENY' }],
  });
  const tools = [
    {
      name: 'ledger',
      hosts: ['ledger.acme.test'],
      operations: { books: { export_ledger: { verb: 'READ', call: 'GET /export' } } },
    },
  ];
  const exporting = {
    name: 'knows own tools',
    call: { method: 'GET', url: 'https://ledger.acme.test/export' },
    expect: { decision: 'DENY', rule: 'no-export' },
  };
  const own = write('own-cases.yaml', { policies: ['own-tool.yaml'], tools, cases: [exporting] });
  t.match(await postern(['policy', 'test', own]), { code: 0, stdout: '1 passed, 0 failed.\n' });
  const customer = {
    id: 'acme-customer',
    class: 'PII',
    pattern: 'ACME-[0-9]{8}',
    examples: { match: ['ACME-12345678'] },
  };
  write('own-detector.yaml', customer);
  write('own-detector-policy.yaml', {
    name: 'customers',
    rules: [{ rule_id: 'stay', condition: { has_detector: ['acme-customer'] }, action: 'DENY' }],
  });
  const customers = (detectors: readonly string[]) =>
    write('customer-cases.yaml', {
      policies: ['own-detector-policy.yaml'],
      detectors,
      cases: [
        {
          name: 'knows own detectors',
          call: { method: 'POST', url: 'https://ledger.acme.test/', body: 'ACME-12345678' },
          expect: { decision: 'DENY', rule: 'stay' },
        },
      ],
    });
  t.match(await postern(['policy', 'test', customers(['own-detector.yaml'])]), { code: 0 });
  t.match(await postern(['policy', 'test', customers([])]), { code: 1, stdout: /0 passed, 1 failed/ });
  t.match(await postern(['policy', 'test', customers(['none/*.yaml'])]), {
    code: 1,
    stdout: /detectors\[0\]: no file matches this pattern/,
  });
  write('own-detector.yaml', { ...customer, id: 'private-address' });
  t.match(await postern(['policy', 'test', customers(['own-detector.yaml'])]), {
    code: 1,
    stdout: /own-detector\.yaml:1 id: "private-address" is taken by config/,
  });
  const good = write('good-cases.yaml', { policies, cases: [denied, held, passed] });
  const ran = await postern(['policy', 'test', good]);
  t.equal(ran.stdout, '3 passed, 0 failed.\n', ran.stderr);
  t.equal(ran.code, 0);

  const wrong = write('wrong-cases.yaml', {
    policies,
    cases: [
      { ...denied, name: 'wants another decision', expect: { decision: 'ALLOW' } },
      { ...denied, name: 'wants another rule', expect: { decision: 'DENY', rule: 'no-push' } },
      { ...denied, name: 'wants another reason', expect: { decision: 'DENY', reasons: ['PII'] } },
      passed,
    ],
  });
  const failed = await postern(['policy', 'test', good, wrong]);
  t.equal(failed.code, 1);
  const lines = failed.stdout.trimEnd().split('\n');
  t.match(lines, [
    new RegExp(`^${wrong}:4: wants another decision: expected ALLOW; it is DENY for NO_APP by rule no-app: `),
    /: wants another rule: expected DENY by rule no-push; it is DENY /,
    /: wants another reason: expected DENY for PII; it is DENY /,
    /^4 passed, 3 failed\.$/,
  ]);
  const asJson = await postern(['--json', 'policy', 'test', wrong]);
  t.equal(asJson.code, 1);
  t.match(JSON.parse(asJson.stdout), {
    passed: 1,
    failed: 3,
    cases: [
      {
        file: wrong,
        line: 4,
        ok: false,
        actual: { decision: 'DENY', rule_id: 'no-app', policy_name: 'cases' },
      },
    ],
    errors: [],
  });
});

t.test('test says what is wrong with a case file, and runs the others', async (t) => {
  write('harmless.yaml', { name: 'harmless', rules: [rule('DENY', 'https://a.test/')] });
  write('harmful.yaml', 'name: harmful\nrules:\n  - { rule_id: a, action: DENYY }\n');
  const call = { method: 'GET', url: 'https://a.test/' };
  const one = { name: 'n', call, expect: { decision: 'DENY' } };
  const good = write('a-case.yaml', { policies: ['harmless.yaml'], cases: [one] });
  const wrong = { ...one, expect: { decision: 'NO' } };
  const bad = [
    { file: write('no-yaml.yaml', 'cases: [\n'), says: 'no-yaml\\.yaml:2:\\d+: ' },
    {
      file: write('deep-case.yaml', `cases: ${'['.repeat(20_000)}`),
      says: 'deep-case\\.yaml:1:\\d+: .*too deep',
    },
    {
      file: write('alias.yaml', `policies: &a x\ncases: [${'*a, '.repeat(51)}]`),
      says: 'alias\\.yaml:2:209: .*more than 50 aliases',
    },
    { file: write('circle.yaml', 'cases: &a [*a]'), says: 'circle\\.yaml:1:12: there is no such anchor' },
    {
      file: write('misspelt.yaml', { policies: ['harmless.yaml'], cases: [{ ...one, expects: {} }] }),
      says: 'misspelt\\.yaml:\\d+: cases\\[0\\]\\.expects: expects is not a key here; did you mean expect\\?',
    },
    {
      file: write('twice.yaml', {
        policies: ['harmless.yaml'],
        tools: ['a', 'b'].map((name) => ({ name, hosts: ['api.acme.test'] })),
        cases: [one],
      }),
      says: 'twice\\.yaml:\\d+: tools: b: api\\.acme\\.test already belongs to a',
    },
    { file: write('two.yaml', {}, {}), says: 'two\\.yaml:2:\\d+: .*a second document' },
    {
      file: write('bad-case.yaml', { policies: ['harmless.yaml'], cases: [one, wrong] }),
      says: 'bad-case\\.yaml:13: cases\\[1\\]\\.expect\\.decision: ',
    },
    {
      file: write('bad-policy.yaml', { policies: ['harmful.yaml'], cases: [one] }),
      says: 'harmful\\.yaml:3: rules\\[0\\]\\.action: .*DENY',
    },
    {
      file: write('missing.yaml', { policies: ['nowhere.yaml'], cases: [one] }),
      says: 'nowhere\\.yaml: cannot be read: there is no such file',
    },
  ];
  const ran = await postern(['policy', 'test', ...bad.map(({ file }) => file), good]);
  t.equal(ran.code, 1);
  for (const { file, says } of bad) t.match(ran.stdout, new RegExp(`^.*${says}`, 'm'), file);
  t.match(ran.stdout, /\n1 passed, 0 failed\.\n$/);
  t.equal((await postern(['policy', 'test'])).code, 2);
});

t.test('simulate says which decisions would change', async (t) => {
  const key = (await operator(['key', 'mint', '--name', 'agent', '--agent', agentId])).stdout.trim();
  const from = new Date(Date.now() - 60_000).toISOString();
  const url = 'https://simulated.test/';
  const api = apiClient(daemon.controlUrl);
  const live = await api('POST', '/v1/scan', { method: 'POST', url, body: { a: 1 } }, `Bearer ${key}`);
  const { trace_id: traceId, decision } = live.body;
  t.equal(decision, 'ALLOW');

  const file = write('candidate.yaml', { name: 'candidate', rules: [rule('DENY', url)] });
  const calls = write('calls.yaml', [
    { method: 'POST', url, body: { a: 1 } },
    { method: 'GET', url: 'https://other.test/' },
  ]);
  const given = await operator(['policy', 'simulate', file, '--calls', calls, '--exit-code']);
  t.equal(given.code, 3, given.stderr);
  t.match(given.stdout, /^call 0 +ALLOW .* DENY +candidate\/r$/m);
  t.match(given.stderr, /^2 judged: 1 change, 1 do not, 0 cannot be told\.$/m);

  const idle = write('idle.yaml', {
    name: 'idle',
    rules: [{ rule_id: 'all', action: 'ALLOW' }, rule('DENY', url, 'never')],
  });
  for (const flags of [[], ['--json']]) {
    const warned = await operator(['policy', 'simulate', idle, '--calls', calls, ...flags]);
    t.match(warned, { code: 0, stderr: /^warning: idle: rule never: is never reached/m }, flags.join());
  }

  // It is with the state a moment later; whoever looks for it has it shipped at once.
  t.equal((await operator(['trace', 'show', traceId])).code, 0);
  const recorded = ['policy', 'simulate', file, '--from', from];
  t.match((await operator(recorded)).stdout, new RegExp(`^${traceId} +ALLOW .* DENY +candidate/r$`, 'm'));
  t.match(await json([...recorded, '--decision', 'DENY']), { changed: [] }, 'filters choose the calls');

  const reading = write('reading.yaml', {
    name: 'candidate',
    rules: [{ ...rule('DENY', url), condition: { body_contains_any: ['needle'] } }],
  });
  const untold = await operator(['policy', 'simulate', reading, '--from', from, '--exit-code']);
  t.equal(untold.code, 0, untold.stderr);
  t.match(untold.stdout, new RegExp(`^Nothing changes\\.\n\n.*\n${traceId} +.*$`, 'm'));

  for (const args of [[], ['--calls', calls, '--from', from]])
    t.equal((await operator(['policy', 'simulate', file, ...args])).code, 2, 'either calls or traces');
  t.match(await operator(['policy', 'simulate', file, '--calls', file]), {
    code: 1,
    stderr: /:1: must be a list of calls/,
  });
  t.equal((await operator(['policy', 'show', 'candidate'])).code, 1, 'nothing was applied');
});

t.test('versions stay when a policy is archived', async (t) => {
  const versioned = (action: string) =>
    write('versioned.yaml', {
      name: 'versioned',
      env_name: 'staging',
      rules: [rule(action, 'https://v.test/')],
    });
  for (const action of ['DENY', 'ALLOW'])
    t.equal((await operator(['policy', 'apply', versioned(action)])).code, 0);
  t.equal((await operator(['policy', 'archive', 'versioned'])).code, 1, 'there is none for all environments');
  t.equal(
    (await operator(['policy', 'archive', 'versioned', '--env', 'staging'])).stdout,
    'versioned is archived.\n',
  );
  t.equal((await operator(['policy', 'show', 'versioned', '--env', 'staging'])).code, 1);
  const { items } = await json<{ items: { version: number }[] }>([
    'policy',
    'versions',
    'versioned',
    '--env',
    'staging',
  ]);
  t.same(
    items.map(({ version }) => version),
    [2, 1],
  );
  t.match(await operator(['policy', 'apply', versioned('DENY')]), { code: 0, stdout: /version 3/ });
});
