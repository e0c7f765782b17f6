import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createVault, parseVaultKey } from '../../src/vault/vault.ts';

const place = { tenantId: 'acme', name: 'github-bot', type: 'bearer' };

t.test('opens what it has sealed, and nothing else', async (t) => {
  const vault = createVault(randomBytes(32));
  const secret = `{"value":"${randomBytes(24).toString('hex')} é"}`;
  const sealed = vault.seal(place, secret);
  t.equal(vault.open(place, sealed), secret);
  t.notMatch(sealed, secret.slice(10, 30), 'the secret does not stand in what is stored');
  t.not(vault.seal(place, secret), sealed, 'equal secrets do not look equal');

  const elsewhere = [
    { ...place, tenantId: 'other' },
    { ...place, name: 'gitlab-bot' },
    { ...place, type: 'query' },
    { tenantId: 'acme","github-bot', name: '', type: 'bearer' },
  ];
  for (const other of elsewhere)
    t.equal(vault.open(other, sealed), undefined, `not as ${JSON.stringify(other)}`);
  t.equal(createVault(randomBytes(32)).open(place, sealed), undefined, 'not with another key');
});

t.test('opens nothing that was altered, whatever it looks like', async (t) => {
  const vault = createVault(randomBytes(32));
  const sealed = vault.seal(place, 'the secret of the test');
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (let i = 0; i < bytes.length; i++) {
    const altered = Buffer.from(bytes);
    altered[i] = (altered[i] ?? 0) ^ 1;
    t.equal(vault.open(place, `v1.${altered.toString('base64url')}`), undefined, `byte ${i}`);
  }
  for (const rubbish of [
    '',
    'v1.',
    'v1.AAAA',
    `v2.${sealed.slice(3)}`,
    sealed.slice(0, -4),
    'x'.repeat(100_000),
  ])
    t.equal(vault.open(place, rubbish), undefined);
});

t.test('takes a key of exactly 32 bytes, in hex or base64', async (t) => {
  const key = randomBytes(32);
  for (const encoding of ['hex', 'base64', 'base64url'] as const)
    t.same(parseVaultKey(`${key.toString(encoding)}\n`), key, encoding);
  for (const text of [
    '',
    'secret',
    randomBytes(31).toString('hex'),
    randomBytes(33).toString('base64'),
    'g'.repeat(64),
  ])
    t.equal(parseVaultKey(text), undefined);
  t.throws(() => createVault(randomBytes(16)), /32 bytes/);
});
