import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createVault, parseVaultKeys } from '../../src/credentials/vault.ts';

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
    t.same(parseVaultKeys(`${key.toString(encoding)}\n`), [key], encoding);
  t.same(parseVaultKeys(`${key.toString('hex')}\n ${key.toString('base64')} `), [key, key], 'several');
  for (const text of [
    '',
    'secret',
    randomBytes(31).toString('hex'),
    randomBytes(33).toString('base64'),
    'g'.repeat(64),
  ])
    for (const given of [text, `${key.toString('hex')} ${text || '-'}`])
      t.equal(parseVaultKeys(given), undefined);
  t.throws(() => createVault(randomBytes(16)), /32 bytes/);
  t.throws(() => createVault(), /1 to 4/);
  t.throws(() => createVault(...Array.from({ length: 5 }, () => key)), /1 to 4/);
});

t.test('seals with the first of its keys, and opens with all of them', async (t) => {
  const [old, today, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const [before, both, after] = [createVault(old), createVault(today, old), createVault(today)];
  const sealed = before.seal(place, 'x');
  t.equal(both.open(place, sealed), 'x');
  t.equal(both.isOfToday(place, sealed), false);
  const anew = both.seal(place, 'x');
  t.equal(both.isOfToday(place, anew), true);
  t.equal(after.open(place, anew), 'x');
  t.equal(after.open(place, sealed), undefined);
  t.equal(both.isOfToday(place, createVault(foreign).seal(place, 'x')), false);
});
