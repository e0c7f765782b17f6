import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';

const read = (file: string): string =>
  readFileSync(resolve(import.meta.dirname, '../../../config/words', file), 'utf8');

t.test('the list of BIP 39 is the one that README.md names', async (t) => {
  const hash = createHash('sha256').update(read('bip-39-english.txt')).digest('hex');
  t.match(read('README.md'), hash);
});

t.test('given names stand in order, once each, in small letters without accents', async (t) => {
  const names = read('given-names.txt').trimEnd().split('\n');
  t.strictSame(names, [...new Set(names)].sort());
  t.strictSame(
    names.filter((name) => !/^[a-z]{2,20}$/.test(name)),
    [],
  );
});
