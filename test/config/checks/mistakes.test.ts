import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { suggestion } from '../../../src/config/checks/mistakes.ts';
import { ConfigError, type Mistake, mistakeSentence, parseConfig } from '../../../src/config/load.ts';

/** Columns are told by a test of their own. */
const sentenceOf = ({ column: _, ...mistake }: Mistake): string => mistakeSentence(mistake);

function mistakesOf(text: string, env: Record<string, string> = {}): readonly Mistake[] {
  const readFile = (path: string): string => {
    throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: 'ENOENT' });
  };
  try {
    parseConfig(text, { file: '/etc/gate/x.yaml', env, readFile });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

t.test('one file with every kind of mistake has them all reported, each with its line', async (t) => {
  const file = resolve(import.meta.dirname, '../../fixtures/config/mistakes.yaml');
  const text = readFileSync(file, 'utf8');
  const wanted = text
    .split('\n')
    .flatMap((line, index) => {
      const [, path, message] = /# !! (.+?): (.+)$/.exec(line) ?? [];
      return path === undefined ? [] : [`line ${index + 1}, ${path}: ${message}`];
    })
    .sort();
  const found = mistakesOf(text)
    .map((it) => (it.path === '' ? `line ${it.line}, -: ${it.message}` : sentenceOf(it)))
    .sort();
  t.strictSame(found, wanted);
  t.ok(wanted.length > 40);
});

t.test('a mistake stands at the column of its key or item', async (t) => {
  const text = 'upstream: { ca_files: [a.pem, 7] }\ntenants:\n  - id: a\n    plan: prro\n';
  t.strictSame(mistakesOf(text).map(mistakeSentence).sort(), [
    'line 1, column 31, upstream.ca_files[1]: must be text, not a number',
    'line 4, column 5, tenants[0].plan: there is no such plan; did you mean "pro"?',
  ]);
});

const single: { name: string; text: string; want: string }[] = [
  { name: 'a list instead of a mapping', text: '- a', want: 'must be a mapping, not a list' },
  { name: 'a text instead of a mapping', text: 'abc', want: 'must be a mapping, not text' },
  {
    name: 'a broken flow list',
    text: 'a: [1, 2\nb: 3',
    want: 'line 2: this must be indented, or a quote, bracket or brace before it does not end',
  },
  {
    name: 'an unquoted colon',
    text: 'state:\n  url: redis://h/0?prefix=p:\n',
    want: 'line 2: a text that holds ": " or ends in ":" must be quoted',
  },
  { name: 'a tab', text: 'proxy:\n\tlisten: 1', want: 'line 2: lines are indented by spaces, not by tabs' },
  {
    name: 'a bad escape',
    text: 'mode: "\\q"',
    want: 'line 1: there is no such escape in a double-quoted text',
  },
  { name: 'a tag', text: 'mode: !secret enforce', want: 'line 1: tags are not supported' },
  { name: 'a binary', text: 'pid_file: !!binary aGk=', want: 'line 1: tags are not supported' },
  { name: 'a key that is no text', text: '[a]: b', want: 'line 1: a key must be text' },
  {
    name: 'an alias to nothing',
    text: 'mode: *a',
    want: 'line 1: there is no such anchor before this alias, or it has not ended',
  },
  {
    name: 'a second document',
    text: 'mode: enforce\n---\nmode: monitor',
    want: 'line 2: there is a second document; there may be only one',
  },
  { name: 'a merge key', text: '<<: { mode: monitor }', want: 'line 1, ["<<"]: unknown key' },
  { name: 'a prototype', text: '__proto__: { mode: monitor }', want: 'line 1, __proto__: unknown key' },
  { name: 'a name that all objects have', text: 'constructor: 1', want: 'line 1, constructor: unknown key' },
  {
    name: 'a plan of such a name',
    text: 'default_plan: constructor',
    want: 'line 1, default_plan: there is no such plan; there are free, solo, team, pro, enterprise',
  },
  {
    name: 'a null in a list',
    text: 'tenants: [null]',
    want: 'line 1, tenants[0]: must be a mapping, not null',
  },
  { name: 'an infinite number', text: 'workers: .inf', want: 'line 1, workers: must be a finite number' },
];

for (const { name, text, want } of single) {
  t.test(`${name} is a mistake`, async (t) => {
    t.strictSame(mistakesOf(text).map(sentenceOf), [want]);
  });
}

t.test('what is nested or repeated beyond all measure is refused', async (t) => {
  const bomb = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
  for (let level = 1; level < 9; level++) {
    const before = `*a${level - 1}`;
    bomb.push(`a${level}: &a${level} [${Array(10).fill(before).join(',')}]`);
  }
  const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
  const cases = { bomb: bomb.join('\n'), deep, deepest: '['.repeat(100_000), circle: 'tenants: &a [*a]' };
  for (const [name, text] of Object.entries(cases)) t.ok(mistakesOf(text).length > 0, name);
  t.match(mistakesOf(cases.bomb), [{ message: 'there are too many values, or they are nested too deep' }]);
  t.match(mistakesOf(cases.circle), [{ message: /no such anchor before this alias/ }]);
});

t.test('aliases are read as what they stand for', async (t) => {
  const config = parseConfig('proxy: { tls: &tls { cert: a.pem, key: b.pem } }\ncontrol: { tls: *tls }', {
    file: '/etc/gate/x.yaml',
    env: {},
  });
  t.strictSame(config.control.tls, { cert: '/etc/gate/a.pem', key: '/etc/gate/b.pem' });
  const { policies } = parseConfig('policies: [&a a.yaml, *a, &a b.yaml, *a]', {
    file: '/etc/gate/x.yaml',
    env: {},
  });
  const names = ['a', 'a', 'b', 'b'].map((name) => `/etc/gate/${name}.yaml`);
  t.strictSame(policies, names, 'the last anchor of the name counts');
  // Looking through the whole text for each of them takes minutes.
  const many = `policies: [&a a.yaml${', *a'.repeat(100_000)}]`;
  t.match(mistakesOf(many), [{ path: 'policies', message: 'must be at most 1000 entries' }]);
});

t.test('no message quotes the value of a secret', async (t) => {
  const secret = `hunter2${randomBytes(12).toString('hex')}\u{1f511}`;
  const quoted = JSON.stringify(secret);
  const texts = [
    `control: { admin_secret: ${quoted} }`,
    `control: { admin_secret: [${quoted}] }`,
    `state: { url: ${JSON.stringify(`redis://u:${secret}@h:99999`)} }`,
    `upstream: { proxy: ${JSON.stringify(`ftp://u:${secret}@h`)} }`,
    `vault: { key_env: ${quoted} }`,
    `credentials: [{ name: a, type: bearer, value: ${quoted} }]`,
    `credentials: [{ name: a, type: ${quoted}, value: x }]`,
    `credentials: [{ name: a, type: basic, username: ${quoted}, password: ${quoted} }]`,
    `credentials: [{ name: a, type: basic, username: a, password: { x: ${quoted} } }]`,
    `credentials: [{ name: a, type: headers, values: { A: ${quoted} } }]`,
    `credentials: [{ name: a, type: aws_sigv4, secret_access_key: ${quoted}, session_token: ${quoted} }]`,
    `credentials: [{ name: a, type: oauth2_client_credentials, client_secret: ${quoted} }]`,
    `credentials: [{ name: a, type: oauth2_client_credentials, private_key: ${quoted}, key_id: ${quoted} }]`,
    `inbound: [{ prefix: a, upstream: "http://h", auth: { type: token, header: X, value: ${quoted} } }]`,
    `inbound: [{ prefix: a, upstream: ${JSON.stringify(`http://u:${secret}@h`)} }]`,
    `notifications: [{ name: a, type: slack, url: ${quoted}, secret: ${quoted}, signing_secret: ${quoted} }]`,
    `keys: [{ name: a, agent: ${quoted}, hash: ${quoted} }]`,
    `control: { admin_secret: ${secret}: broken: yaml }`,
    `control: { admin_secret: "${secret}\n  , x`,
    `control: { admin_secret: *${secret} }`,
    `control: { admin_secret: !${secret.slice(0, 20)} x }`,
    `mode: ${quoted}`,
    `limits: { scan_timeout: ${quoted}, max_body_bytes: ${quoted} }`,
  ];
  for (const [index, text] of texts.entries()) {
    const mistakes = mistakesOf(text);
    t.ok(mistakes.length > 0, `case ${index} is a mistake`);
    t.notOk(JSON.stringify(mistakes).includes('hunter2'), `case ${index} does not quote`);
    t.notOk(
      new ConfigError('x', mistakes).message.includes('hunter2'),
      `case ${index} does not tell it either`,
    );
  }
  const outside = mistakesOf('', {
    SERVICE_API_KEYS_ADMIN_SECRET: secret,
    MAX_BODY_BYTES: secret,
    REPLAY_WINDOW_SEC: secret,
  });
  t.equal(outside.length, 3);
  t.notOk(JSON.stringify(outside).includes('hunter2'));
});

t.test('the error tells file, places and how many there are', async (t) => {
  const many = Array.from({ length: 120 }, (_, index) => `x${index}: 1`).join('\n');
  const error = t.throws(() => parseConfig(many, { file: '/etc/gate/x.yaml', env: {} })) as ConfigError;
  t.equal(error.mistakes.length, 120);
  t.match(error.message, /^\/etc\/gate\/x\.yaml has 120 mistakes:\n {2}line 1, column 1, x0: unknown key\n/);
  t.match(error.message, /\n {2}and 20 more$/);
  t.equal(error.file, '/etc/gate/x.yaml');
});

t.test('a suggestion is the nearest word, where one is near', async (t) => {
  const words = ['listen', 'limits', 'log', 'tenants'];
  t.equal(suggestion('listn', words), '; did you mean "listen"?');
  t.equal(suggestion('lsiten', words), '; did you mean "listen"?');
  t.equal(suggestion('Tenant', words), '; did you mean "tenants"?');
  t.equal(suggestion('zebra', words), '');
  t.equal(suggestion('l'.repeat(10_000), words), '');
});
