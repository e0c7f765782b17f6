import t from 'tap';
import { bip39List, walletChecks } from '../../../src/inspect/checks/wallets.ts';
import { expandSample } from '../../support/samples.ts';

type Name = keyof typeof walletChecks;

/** In two parts, lest a code host takes it for a live key. */
const publishedWif = ['5HueCGU8rMjxEXxiPuD5BDku4', 'MkFqeZyd4dZ1jvhTVqvbTLvyTJ'].join('');

/** Keys are made by the encoders of the examples; published phrases and addresses show that both follow their standards. */
const table: Record<Name, { yes: readonly string[]; no: readonly string[] }> = {
  base58check: {
    // The first address of the block chain is public and has the same checksum (Bitcoin wiki, "Genesis block").
    yes: ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', '{base58check:80-32}', '{base58check:0488ade4-74}'],
    no: ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', '5{base58:50}', '0OIl', '', '1111', `1${'z'.repeat(200)}`],
  },
  wif: {
    // Bitcoin wiki, "Wallet import format".
    yes: ['{base58check:80-32}', publishedWif],
    no: [
      publishedWif.replace(/J$/, 'K'),
      '{base58check:ef-32}', // of a test network
      '{base58check:80-33}', // the last byte says nothing
      'Kx{base58:50}',
      '',
    ],
  },
  'ripple-seed': {
    yes: ['rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh', '{ripple:21-16}'],
    no: ['rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTi', 's{base58:28}', ''],
  },
  bech32: {
    // BIP 173 and BIP 350, test vectors.
    yes: ['A12UEL5L', 'abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx', '{bech32:nsec}', '{bech32:addr_sk}'],
    no: ['A12UEL5M', 'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxx', '1nwldj5', 'nsec', 'x1b4n0q5v', ''],
  },
  'stellar-seed': {
    yes: ['{stellar:seed}'],
    no: ['S{base32:55}', `S${'A'.repeat(55)}`],
  },
  'ed25519-key-pair': {
    yes: ['{keypair:list}', '{keypair:base58}'],
    no: ['{base58:88}', `[${Array(64).fill(1).join(',')}]`, '[1,2,3]', '', '{keypair:list}, 7'],
  },
  'seed-phrase': {
    // BIP 39, test vectors.
    yes: [
      'legal winner thank year wave sausage worth useful legal winner thank yellow',
      'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
      'wallet phrase {phrase:12}',
      '{phrase:15}',
      '{phrase:18}',
      '{phrase:21}',
      '{phrase:24} and nothing else',
      '1. legal\n2. winner\n3. thank\n4. year\n5. wave\n6. sausage\n7. worth\n8. useful\n9. legal\n10. winner\n11. thank\n12. yellow',
    ],
    no: [
      'legal winner thank year wave sausage worth useful legal winner thank legal',
      'legal winner thank year wave sausage worth useful legal winner thank',
      'legal winner thank year wave sausage not useful legal winner thank yellow',
      '',
    ],
  },
  'seed-phrase-like': {
    yes: ['legal winner thank year wave sausage worth useful legal winner thank legal'],
    no: [
      'legal winner thank year wave sausage not useful legal winner thank yellow',
      'legal winner',
      'abandon ability able about above absent absorb abstract absurd abuse access accident',
    ],
  },
};

for (const [name, { yes, no }] of Object.entries(table) as [Name, { yes: string[]; no: string[] }][]) {
  t.test(`${name} tells a whole key from a broken one`, async (t) => {
    yes.forEach((text, index) => {
      t.ok(walletChecks[name](expandSample(text)), `valid ${index + 1}`);
    });
    no.forEach((text, index) => {
      t.notOk(walletChecks[name](expandSample(text)), `invalid ${index + 1}`);
    });
  });
}

t.test('a piece of the list of words is no phrase', async (t) => {
  const words = bip39List();
  t.equal(words.length, 2048);
  for (let start = 0; start + 30 <= words.length; start += 30)
    t.notOk(walletChecks['seed-phrase'](words.slice(start, start + 30).join(' ')), `from ${start}`);
});
