import t from 'tap';
import { parseConfig } from '../../../src/config/load.ts';

const warningsOf = (text: string): string[] =>
  parseConfig(text, { file: undefined, env: { SECRET: 'x' } }).warnings.map(
    ({ path, message }) => `${path}: ${message}`,
  );

const credential = (host: string): string =>
  `{ name: bot, type: bearer, value: "\${env:SECRET}", hosts: ["${host}"] }`;

t.test('warns of passing hosts through that have a credential', (t) => {
  const cases: readonly [glob: string, host: string, isWarned: boolean][] = [
    ['api.github.com', 'api.github.com', true],
    ['*.github.com', 'api.github.com', true],
    ['api.github.com', '*.github.com', true],
    ['api.*', '*.github.com', true],
    ['*x', '*y*', true],
    ['a?c.example', 'ab*.example', true],
    ['*', 'api.github.com', true],
    ['*.example.com', 'api.github.com', false],
    ['github.com', '*.github.com', false],
    ['*.a.example', '*.b.example', false],
    ['a??.example', 'ab.example', false],
  ];
  for (const [glob, host, isWarned] of cases) {
    const text = `tenants: [{ id: acme }]\nintercept: { passthrough: [a.example, "${glob}"] }\ncredentials: [${credential(host)}]`;
    const warning =
      'intercept.passthrough[1]: tunnels are not read, so no credential goes with what they carry: bot';
    const found = warningsOf(text).filter((it) => it.includes('carry'));
    t.strictSame(found, isWarned ? [warning] : [], `${glob} and ${host}`);
  }
  t.end();
});

t.test('warns of what holds for every host or address, where some were meant', (t) => {
  const everywhere =
    'every host gets this credential, those that an agent chooses included; name the hosts that it is for';
  const unread = 'no tunnel is read: of all calls policies see host and port alone';
  const inside = 'agents may reach every private address; name the ranges that they need';
  const cases: readonly [text: string, warnings: readonly string[]][] = [
    [`credentials: [${credential('*')}]`, [`credentials[0].hosts[0]: ${everywhere}`]],
    [`credentials: [${credential('*.*')}]`, [`credentials[0].hosts[0]: ${everywhere}`]],
    [`credentials: [${credential('*.example.com')}]`, []],
    ['intercept: { passthrough: [a.example, "*"] }', [`intercept.passthrough[1]: ${unread}`]],
    ['intercept: { passthrough: ["*.example"] }', []],
    [
      'upstream: { allow_private: [10.0.0.0/8, 0.0.0.0/0, "::/0"] }',
      [`upstream.allow_private[1]: ${inside}`, `upstream.allow_private[2]: ${inside}`],
    ],
    ['upstream: { allow_private: [10.0.0.0/8] }', []],
  ];
  for (const [text, warnings] of cases)
    t.strictSame(warningsOf(`tenants: [{ id: acme }]\n${text}`), warnings, text);
  t.end();
});

t.test('globs without end are compared in time', (t) => {
  const [glob, host] = [`${'*a'.repeat(120)}b`, `${'*a'.repeat(120)}c`];
  const text = `tenants: [{ id: acme }]\nintercept: { passthrough: ["${glob}"] }\ncredentials: [${credential(host)}]`;
  t.strictSame(warningsOf(text), []);
  t.end();
});

t.test('warns of a password of the parent proxy in the file, and of one that resolves', (t) => {
  t.match(warningsOf('upstream: { proxy: "http://user:hunter2@parent.example:3128" }'), [
    /^upstream\.proxy: a secret stands in the file/,
  ]);
  t.strictSame(warningsOf(`upstream: { proxy: "http://parent.example:3128" }`), []);
  t.match(warningsOf(`upstream: { proxy: "http://parent.example:3128", proxy_resolves: true }`), [
    /^upstream\.proxy_resolves: addresses behind names are not checked here/,
  ]);
  t.end();
});

t.test('refuses parents and exceptions that cannot be meant', (t) => {
  const refused = [
    'proxy: "socks5://parent.example:1080"',
    'proxy: "http://parent.example/path"',
    'proxy: "http://parent.example?x"',
    'proxy: "http://a%3Ab:c@parent.example"',
    'proxy: "http://a:%ZZ@parent.example"',
    'proxy: "http://a:b%0Ac@parent.example"',
    'no_proxy: ["http://a.example"]',
    'no_proxy: ["a.example:0"]',
    'no_proxy: ["a.example:70000"]',
    'no_proxy: ["10.0.0.0/33"]',
    'no_proxy: ["..a.example"]',
    'no_proxy: [""]',
  ];
  for (const text of refused)
    t.throws(() => warningsOf(`upstream: { ${text} }`), { name: 'ConfigError' }, text);
  const taken = [
    'A.Example',
    '.a.example',
    '*',
    '*.a.example:443',
    '10.0.0.0/8',
    '10.0.0.1:80',
    '::1',
    '[::1]:443',
    'fd00::/8',
  ];
  const { upstream } = parseConfig(`upstream: { no_proxy: ${JSON.stringify(taken)} }`, {
    file: undefined,
    env: {},
  });
  t.strictSame(upstream.noProxy, [
    'a.example',
    '.a.example',
    '*',
    '*.a.example:443',
    '10.0.0.0/8',
    '10.0.0.1/32:80',
    '::1/128',
    '[::1/128]:443',
    'fd00::/8',
  ]);
  t.end();
});

t.test('warns of channels that others can read or forge', (t) => {
  const warningsOfChannel = (fields: string): string[] =>
    warningsOf(`notifications: [{ name: a, ${fields} }]`);
  const cases: readonly [fields: string, warnings: readonly RegExp[]][] = [
    ['type: slack, url: "https://a.example"', []],
    ['type: slack, url: "http://a.example"', [/\.url: notices go over plain http/]],
    ['type: slack, url: "http://a.example", allow_private: true', []],
    ['type: webhook, url: "https://a.example"', [/\.secret: nothing is signed without it/]],
    ['type: siem, url: "https://a.example", secret: "token"', [/\.secret: a secret stands in the file/]],
    [
      'type: email, to: [a@b.example], url: "smtps://u:hunter2@a.example"',
      [/\.url: a secret stands in the file/],
    ],
  ];
  for (const [fields, warnings] of cases) {
    const found = warningsOfChannel(fields);
    t.equal(found.length, warnings.length, fields);
    t.match(found, warnings, fields);
  }
  t.end();
});
