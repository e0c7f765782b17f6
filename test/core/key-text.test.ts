import { randomBytes } from 'node:crypto';
import t from 'tap';
import { keyDigest, keyPrefix, newKeyText, peppered, readKey } from '../../src/core/key-text.ts';

const pepper = randomBytes(32);

t.test('a new key reads as itself, and only its hash and prefix are kept', async (t) => {
  for (const type of ['live', 'ephemeral'] as const) {
    const text = newKeyText(type);
    const key = readKey(text, pepper);
    t.match(key, { prefix: keyPrefix(text), hash: peppered(keyDigest(text), pepper) });
    t.notMatch(JSON.stringify(key), text.slice(13));
    t.equal(text.length, (type === 'live' ? 8 : 7) + 49);
  }
});

t.test('another pepper gives another hash', async (t) => {
  const text = newKeyText('live');
  t.not(readKey(text, pepper)?.hash, readKey(text, randomBytes(32))?.hash);
});

t.test('rubbish is told from a key without asking anybody', async (t) => {
  const text = newKeyText('live');
  const last = text.at(-1) === '0' ? '1' : '0';
  const middle = text[20] === 'a' ? 'b' : 'a';
  const bad = [
    '',
    'iv_live_',
    text.slice(0, -1),
    `${text}0`,
    text.slice(0, -1) + last,
    text.slice(0, 20) + middle + text.slice(21),
    text.replace('iv_live_', 'iv_test_'),
    text.replace('iv_live_', 'iv_eph_'),
    ` ${text}`,
    `${text}\n`,
    text.slice(0, 12),
    'x'.repeat(100_000),
  ];
  for (const it of bad) t.equal(readKey(it, pepper), undefined);
});
