import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { stringify } from 'yaml';
import { ConfigError } from '../../src/config/checks/mistakes.ts';
import { validateConfig } from '../../src/config/load.ts';
import { toShown } from '../../src/config/show.ts';
import { agentId, type GatewaySetup, startTestGateway, testConfig } from '../support/gateway.ts';

/** Values that no detector of the package knows: a passphrase, a code and a placeholder that was kept. */
const values = {
  short: 'Zq8-vN2?kLm7Xw',
  passphrase: 'Correct-Horse 7 batteries',
  code: '40-31-17-2256-88',
  kept: 'changeme-2024',
};

const tenants = (posture: object = {}) => [
  {
    id: 'acme',
    plan: 'enterprise',
    environments: ['production'],
    posture: { secrets: 'SANITIZE', ...posture },
  },
];
const known = Object.entries(values).map(([name, value]) => ({ name, value }));
const setup = (fields: object = {}): GatewaySetup =>
  ({ config: { tenants: tenants(), known_secrets: known, ...fields } }) as GatewaySetup;

const scanOf =
  ({ api }: Awaited<ReturnType<typeof startTestGateway>>) =>
  async (fields: object) =>
    (
      await api('POST', '/v1/scan', {
        ...{ method: 'POST', url: 'https://api.test.example/x', agent_id: agentId },
        ...fields,
      })
    ).body;

const kindsIn = ({ findings }: { findings: readonly { kind: string }[] }): readonly string[] => [
  ...new Set(findings.map(({ kind }) => kind).filter((kind) => kind.startsWith('known-secret-'))),
];

const hex = (text: string): string => Buffer.from(text).toString('hex');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** The ways in which an agent may write a value. */
const forms: Readonly<Record<string, (value: string) => unknown>> = {
  'as it is': (value) => `the value is ${value}, keep it`,
  'inside a word': (value) => `x${value}x`,
  'in a field': (value) => ({ note: { text: value } }),
  percent: (value) => `q=${[...value].map((it) => `%${hex(it)}`).join('')}`,
  'escapes of JSON': (value) => `"${[...value].map((it) => `\\u00${hex(it)}`).join('')}"`,
  base64: (value) => `data ${base64(`log: ${value} is the value`)}`,
  'base64 twice': (value) => base64(base64(`log: ${value} is the value`)),
  'base64 alone': (value) => base64(value),
  'base64 behind a byte': (value) => base64(`x${value}`),
  'base64 behind two bytes': (value) => base64(`xy${value}z`),
  'base64 for URLs': (value) => Buffer.from(value).toString('base64url'),
  'hexadecimal alone': (value) => hex(value),
  'hexadecimal in capitals': (value) => ({ dump: hex(value).toUpperCase() }),
  'hexadecimal in pairs': (value) => hex(value).replace(/../g, '$& '),
  backwards: (value) => [...value].reverse().join(''),
  hexadecimal: (value) => hex(`log: ${value} is the value`),
  entities: (value) => `<b>${[...value].map((it) => `&#x${hex(it)};`).join('')}</b>`,
};

t.test('a known secret is found by its value in every encoding, and cut out', async (t) => {
  const gateway = await startTestGateway(t, setup());
  const scan = scanOf(gateway);
  for (const [name, value] of Object.entries(values))
    for (const [form, write] of Object.entries(forms)) {
      const answer = await scan({ body: write(value) });
      t.strictSame(kindsIn(answer), [`known-secret-${name}`], `${name}, ${form}`);
      t.equal(answer.decision, 'SANITIZE', `${name}, ${form}: decision`);
      t.notMatch(JSON.stringify(answer), value, `${name}, ${form}: the answer does not repeat it`);
    }
  t.strictSame(
    kindsIn(await scan({ body: values.passphrase.toLowerCase() })),
    [],
    'in another case it is none',
  );
  t.strictSame(kindsIn(await scan({ body: values.passphrase.slice(1) })), [], 'a part of it is none');
  const url = `https://api.test.example/x?t=${encodeURIComponent(values.passphrase)}`;
  t.strictSame(kindsIn(await scan({ url })), ['known-secret-passphrase'], 'in a URL');
});

t.test('it is at home at the hosts that are named, where credentials usually stand', async (t) => {
  const value = 'legacy/pass 17 phrase';
  const gateway = await startTestGateway(
    t,
    setup({ known_secrets: [{ name: 'legacy', value, hosts: ['legacy.test.example', '*.legacy.example'] }] }),
  );
  const scan = scanOf(gateway);
  const classesAt = async (url: string, fields: object) => (await scan({ url, ...fields })).classifications;
  const inKey = { headers: { 'x-api-key': value } };
  t.strictSame(await classesAt('https://legacy.test.example/x', inKey), []);
  t.strictSame(await classesAt('https://a.legacy.example/x', inKey), []);
  t.strictSame(await classesAt('https://api.test.example/x', inKey), ['SECRETS'], 'at another host');
  t.strictSame(await classesAt('https://a.legacy.example/x', { headers: { 'x-note': value } }), ['SECRETS']);
  t.strictSame(
    await classesAt('https://legacy.test.example/x', { body: { note: value } }),
    ['SECRETS'],
    'a body is content',
  );
});

t.test('the longest values are found, and cut out whole however they are written', async (t) => {
  const value = `${'.+*'.repeat(85)}7`;
  const gateway = await startTestGateway(t, setup({ known_secrets: [{ name: 'long', value }] }));
  const scan = scanOf(gateway);
  for (const text of [value, base64(value), hex(value)]) {
    const answer = await scan({ body: `before ${text} behind` });
    t.equal(answer.sanitized_body, 'before [REDACTED:known-secret-long] behind', text.slice(0, 8));
  }
});

t.test('a reload takes another value', async (t) => {
  const gateway = await startTestGateway(t, setup());
  const scan = scanOf(gateway);
  const next = 'Another-Horse 8 batteries';
  writeFileSync(join(gateway.dir, 'next'), `${next}\n`);
  const secrets = [{ name: 'passphrase', value: `\${file:${join(gateway.dir, 'next')}}` }];
  writeFileSync(gateway.configFile, stringify(testConfig(setup({ known_secrets: secrets }))));
  t.ok(await gateway.reload());
  t.strictSame(kindsIn(await scan({ body: next })), ['known-secret-passphrase']);
  t.strictSame(kindsIn(await scan({ body: values.passphrase })), []);
});

/** All that is wrong with known secrets, as it is told. */
function mistakesOf(secrets: readonly object[]): readonly string[] {
  try {
    validateConfig({ known_secrets: secrets }, { file: undefined, env: {} });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.mistakes.map(({ path, message }) => `${path}: ${message}`);
  }
}

t.test('a value that other texts have too is refused, and never quoted', async (t) => {
  for (const value of [
    'short-1',
    'production',
    'PRODUCTION',
    '20260131',
    '********',
    '-----------------',
    ' padded 1234',
    `two\nlines 1234`,
    'ä'.repeat(9),
  ]) {
    const [mistake = '', ...more] = mistakesOf([{ name: 'a', value }]);
    t.match(mistake, /^known_secrets\[0\]\.value: must be 8 to 256 characters/, JSON.stringify(value.length));
    t.notMatch(mistake, value.trim());
    t.strictSame(more, []);
  }
  t.strictSame(mistakesOf([{ name: 'a', value: `x1${'y'.repeat(254)}` }]), []);
  t.not(mistakesOf([{ name: 'a', value: `x1${'y'.repeat(255)}` }]).length, 0);
  t.match(mistakesOf([{ name: 'A b', value: 'a-value-17' }]), [/known_secrets\[0\]\.name: must be/]);
  const many = Array.from({ length: 101 }, (_, at) => ({ name: `s-${at}`, value: `value-number-${at}` }));
  t.match(mistakesOf(many), [/known_secrets: /]);
});

t.test('a name that is taken is refused by the daemon', async (t) => {
  const gateway = await startTestGateway(t, setup());
  const twice = [...known, { name: 'code', value: 'another-value-7' }];
  writeFileSync(gateway.configFile, stringify(testConfig(setup({ known_secrets: twice }))));
  t.notOk(await gateway.reload());
  const { body } = await gateway.api('GET', '/readyz');
  t.match(body.config.last_error, /known_secrets\[4\] id: is taken by known_secrets\[2\]/);
  t.notMatch(body.config.last_error, /another-value/);
});

t.test('the configuration that is shown has no value', async (t) => {
  const config = validateConfig({ known_secrets: known }, { file: undefined, env: {} });
  const shown = JSON.stringify(toShown(config));
  t.match(shown, /"known_secrets":\[\{"name":"short","value":"\*\*\*"/);
  for (const value of Object.values(values)) t.notMatch(shown, value);
});
