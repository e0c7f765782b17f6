import t from 'tap';
import { parseConfig } from '../../src/config/load.ts';
import { ignoredKeys } from '../../src/daemon/not-yet.ts';

const agent = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';
const tenant = (fields: string): string => `tenants: [{ id: acme, ${fields} }]`;
const route = (fields: string): string =>
  `tenants: [{ id: acme }]\ninbound: [{ prefix: p, upstream: "http://h", ${fields} }]`;

const parse = (text: string) => parseConfig(text, { file: undefined, env: {} });

t.test('a file that asks for nothing that is to come is taken in silence', (t) => {
  for (const text of [
    '',
    route('tool: slack'),
    tenant('mode: monitor'),
    `tenants: [{ id: acme }]\ncredentials: [{ name: a, type: aws_sigv4, access_key_id: i, secret_access_key: s }]`,
    `${tenant('plan: pro')}\nproxy: { require_auth: false }`,
    'workers: 2\nstate: { url: redis://localhost/0 }',
    tenant('budgets: [{ name: b, daily: 1 }]'),
    tenant('internal: { builtin: false }, detectors: { off: [private-address] }'),
    'response_scan: { mode: observe }',
    'tools: [{ name: slack, max_body_bytes: 1KB, sensitive: false }]',
    'intercept: { passthrough: ["*.example.com"] }',
    'proxy: { proxy_protocol: true }',
    'upstream: { proxy: "http://parent:3128" }',
    'response_scan: { mode: enforce }',
    tenant('response_scan: { mode: enforce }'),
    'tools: [{ name: slack, response_scan: { mode: enforce, max_bytes: 64KB } }]',
    route(`agent: ${agent}, auth: none, response_scan: { mode: enforce }`),
  ]) {
    t.strictSame(ignoredKeys(parse(text)), [], text);
  }
  t.end();
});

t.test('what only lacks its effect is a warning', (t) => {
  const cases: readonly [path: string, text: string][] = [
    ['telemetry.otlp', 'telemetry: { otlp: "http://localhost:4318" }'],
  ];
  for (const [path, text] of cases) {
    const [first, ...more] = ignoredKeys(parse(text));
    t.equal(first?.split(' ')[0], path, text);
    t.strictSame(more, []);
  }
  t.end();
});
