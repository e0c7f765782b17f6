import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { parseConfig } from '../../src/config/load.ts';
import { toShown } from '../../src/config/show.ts';

const fixture = readFileSync(resolve(import.meta.dirname, '../fixtures/config/full.yaml'), 'utf8');

t.test('shows the configuration in effect without a secret', async (t) => {
  const secret = `hunter2${randomBytes(8).toString('hex')}`;
  const config = parseConfig(fixture.replace('p%40ss', secret).replace('user:secret@', `user:${secret}@`), {
    file: '/etc/gate/full.yaml',
    env: { ADMIN: secret, GITHUB_BOT_TOKEN: secret, SLACK_HOOK: `https://hooks.example/${secret}` },
    readFile: () => secret,
  });
  const shown = toShown(config);
  t.notOk(JSON.stringify(shown).includes('hunter2'));
  t.match(shown, {
    control: { admin_secret: '***' },
    limits: { scan_timeout_ms: 100 },
    state: { url: { username: '***', password: '***', nodes: [{ host: 'redis.example.com' }] } },
    upstream: { proxy: 'http://***@parent.example:3128' },
    plans: { example: { scans_per_month: 20 } },
    tenants: {
      acme: {
        posture: { bands: { HIGH: 'DENY' } },
        detectors: { off: ['us-ssn'], confidence: { 'payment-card': 'low' } },
      },
    },
    credentials: [{ value: '***' }, { username: '***' }, { values: { 'X-Api-Key': '***' } }],
    inbound: { 'sf-slack': { auth: { header: 'X-Hook', value: '***' } } },
    notifications: [{ url: 'https://hooks.example/***', signing_secret: '***' }],
    telemetry: { otlp_headers: { 'Api-Key': '***' } },
  });
});

t.test('shows what is not set as null, and the key of the vault never', async (t) => {
  t.match(toShown(parseConfig('', { file: undefined, env: {} })), {
    control: { admin_secret: null },
    vault: { key: null },
  });
  const key = randomBytes(32).toString('hex');
  const shown = toShown(parseConfig('vault: { key_env: VAULT }', { file: undefined, env: { VAULT: key } }));
  t.match(shown, { vault: { key: '***' } });
});

t.test('a vault key that is none is a mistake', async (t) => {
  for (const [key, isGood] of [
    [randomBytes(32).toString('hex'), true],
    [randomBytes(32).toString('base64'), true],
    [randomBytes(32).toString('base64url'), true],
    [randomBytes(31).toString('hex'), false],
    ['', false],
  ] as const) {
    const parse = (): unknown =>
      parseConfig('vault: { key_env: VAULT }', { file: undefined, env: { VAULT: key } });
    if (isGood) t.doesNotThrow(parse);
    else t.throws(parse, { name: 'ConfigError' });
  }
});
