import { randomInt } from 'node:crypto';
import t from 'tap';
import { randomBits } from '../../../src/inspect/checks/letter-pairs.ts';
import { randomnessChecks } from '../../../src/inspect/checks/randomness.ts';

const { random, 'plainly-random': plainlyRandom } = randomnessChecks;
const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const draw = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Names, words and code of many kinds that stand where a key might stand. */
const named = [
  'getUserAccessTokenFromCache',
  'correct-horse-battery-staple',
  'ClassPathXmlApplicationContext',
  'kubernetes-dashboard-jwt',
  'Krankenversicherungsnummer',
  'mysql-connector-java',
  'ed25519.Ed25519PrivateKey.from_private_bytes',
  'standard_b64encode',
  'production-west',
  Buffer.from('foobar_new').toString('base64url'),
  Buffer.from('this is a fake bearer token!').toString('base64'),
  Buffer.from('I wonder who will decode this\n').toString('base64'),
  Buffer.from('{"username": "tom').toString('base64').replace(/=+$/, ''),
  'created-at-then-name-ascending',
  '12345678901234567890',
  'version2',
  'password',
  '',
  'a',
];
for (const text of named) {
  t.test(`takes ${JSON.stringify(text)} for something that was named`, async (t) => {
    t.notOk(random(text));
  });
}

t.test('judges base64 of many letters without trying all ways to part them into words', async (t) => {
  for (const end of ['1', '{'])
    t.type(random(Buffer.from(`${'ab'.repeat(95)}${end}`).toString('base64')), 'boolean');
  t.type(
    random(
      Buffer.from(`{"${'ab'.repeat(94)}1`)
        .toString('base64')
        .replace(/=+$/, ''),
    ),
    'boolean',
  );
});

const generated = [
  { what: 'letters and digits', alphabet: lower + digits, length: 32 },
  { what: 'letters in both cases and digits', alphabet: lower + lower.toUpperCase() + digits, length: 40 },
  { what: 'hexadecimal digits', alphabet: `${digits}abcdef`, length: 32 },
  { what: 'letters', alphabet: lower, length: 64 },
];
for (const { what, alphabet, length } of generated) {
  t.test(`takes random ${what} for random`, async (t) => {
    // Chance may write a word; of a hundred texts it hides five at most once in many thousand runs.
    const found = Array.from({ length: 100 }, () => draw(alphabet, length)).filter(random).length;
    t.ok(found >= 95, `${found} of 100`);
  });
}

t.test('takes letters of a to f and digits for random, whatever they spell', async (t) => {
  t.ok(random('deadbeefcafe4feed4bead5decade6'));
  t.notOk(random('deadbeefcafefeedbeaddecade'));
});

t.test(
  'takes a name with digits between its words for random only where names are not to be expected',
  async (t) => {
    for (const name of ['rs256k1v2sig', 'v1beta1k8sApi', 'utf8ToUtf16Le']) {
      t.ok(random(name), name);
      t.notOk(plainlyRandom(name), name);
    }
    const found = Array.from({ length: 100 }, () => draw(`${digits}abcdef`, 32)).filter(plainlyRandom).length;
    t.ok(found >= 95, `${found} of 100`);
  },
);

t.test('measures words below zero and noise above', async (t) => {
  t.ok(randomBits('theinternationaltranslation') < -20);
  t.ok(randomBits('xqzjkvwqpxjzqkvx') > 40);
  t.equal(randomBits('a1b'), 3);
  t.equal(randomBits('0123456789 - _'), 0);
});
