import t from 'tap';
import { checkRoom, credentialsMax, sealedCharsMax } from '../../../src/state/rules/credentials.ts';
import type { SealedCredential } from '../../../src/state/store.ts';
import { noonMs } from '../records.ts';

const credential = (name: string, length = 100): SealedCredential => ({
  ...{ tenantId: 'acme', name, type: 'bearer', changedAtMs: noonMs },
  sealed: 'x'.repeat(length),
});
const many = (count: number, length?: number) =>
  Array.from({ length: count }, (_, at) => credential(`c${at}`, length));
const half = sealedCharsMax / 2;

const cases = [
  { name: 'the last one that there is room for', standing: many(credentialsMax - 1), next: credential('n') },
  { name: 'one more', standing: many(credentialsMax), next: credential('n'), refused: /1000 credentials in/ },
  { name: 'a longer one in place of another', standing: many(credentialsMax), next: credential('c1', 101) },
  { name: 'as many characters as may be', standing: many(1, half), next: credential('n', half) },
  {
    name: 'one more character',
    standing: many(1, half),
    next: credential('n', half + 1),
    refused: /characters/,
  },
  {
    name: 'a longer one that has no room',
    standing: many(2, half),
    next: credential('c1', half + 1),
    refused: /characters/,
  },
  {
    name: 'one of the same length where there are too many already',
    standing: many(3, half),
    next: credential('c1', half),
  },
];

for (const { name, standing, next, refused } of cases) {
  t.test(`${refused ? 'refuses' : 'takes'} ${name}`, async (t) => {
    if (refused) t.throws(() => checkRoom(next, standing), { code: 'CONFLICT', message: refused });
    else t.doesNotThrow(() => checkRoom(next, standing));
  });
}
