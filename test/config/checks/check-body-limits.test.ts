import t from 'tap';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';

const mistakesIn = (text: string, env: Record<string, string> = {}): readonly string[] => {
  try {
    parseConfig(text, { file: undefined, env });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map(({ path, message }) => `${path} ${message}`);
  }
};

const isTooMuch = /is more than limits\.max_body_bytes_total \(64 MB\).*raise that one, or lower this one/;
const agent = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c11';

const places: { path: string; text: (size: string) => string }[] = [
  { path: 'limits.max_body_bytes', text: (size) => `limits: { max_body_bytes: ${size} }` },
  { path: 'plans.p.max_body_bytes', text: (size) => `plans: { p: { max_body_bytes: ${size} } }` },
  {
    path: 'tenants[0].limits.max_body_bytes',
    text: (size) => `tenants: [{ id: acme, limits: { max_body_bytes: ${size} } }]`,
  },
  { path: 'tools[0].max_body_bytes', text: (size) => `tools: [{ name: slack, max_body_bytes: ${size} }]` },
  {
    path: 'inbound[0].max_body_bytes',
    text: (size) =>
      `tenants: [{ id: acme }]\nagents: [{ id: ${agent}, tenant: acme }]\ninbound: [{ prefix: x, tenant: acme, agent: ${agent}, upstream: 'https://x.example', max_body_bytes: ${size} }]`,
  },
];

for (const { path, text } of places) {
  t.test(
    `${path} above what all bodies of an agent have is refused, and the sentence says what to change`,
    async (t) => {
      const [mistake = '', ...others] = mistakesIn(text('65MB'));
      t.match(mistake, isTooMuch);
      t.equal(mistake.split(' ')[0], path);
      t.strictSame(others, []);
      t.strictSame(mistakesIn(text('64MB')), []);
    },
  );
}

t.test('what is written as total counts, and the limit of the environment is compared with it', async (t) => {
  t.strictSame(mistakesIn('limits: { max_body_bytes: 65MB, max_body_bytes_total: 65MB }'), []);
  t.match(mistakesIn('limits: { max_body_bytes_total: 1MB }', { MAX_BODY_BYTES: '2MB' }), [
    /^limits\.max_body_bytes is more than limits\.max_body_bytes_total \(1 MB\)/,
  ]);
});

t.test('a total below the default limit is refused, unless a lower limit is written', async (t) => {
  t.match(mistakesIn('limits: { max_body_bytes_total: 128KB }'), [
    /^limits\.max_body_bytes_total is less than the default of limits\.max_body_bytes \(256 KB\); raise it/,
  ]);
  t.strictSame(mistakesIn('limits: { max_body_bytes_total: 128KB, max_body_bytes: 128KB }'), []);
});
