import t from 'tap';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';
import { keywordMatchBits } from '../../../src/inspect/patterns/random-match-bits.ts';

/** Of the 64 characters of base64 one is six bits. */
const patterns: readonly (readonly [pattern: string, flags: string, bits: number])[] = [
  ['fw_[0-9a-z]{0,9}', '', 18],
  ['fw_', 'i', 16],
  ['AKIA[A-Z2-7]{16}', '', 40],
  ['(?:ab|cd)[A-Z2-7]', '', 12],
  ['(?<=key)[A-Z2-7]{2}', '', 20],
  ['(?<!key)(?=[a-z])\\bx(?!y)', '', 6],
  ['a?b', '', 6],
  ['x\\n', '', 12],
  ['[0-9A-Za-z+/]{40}', '', 0],
  ['a@b', '', Number.POSITIVE_INFINITY],
];

t.test('a pattern is met in base64 as seldom as its characters are', async (t) => {
  for (const [pattern, flags, bits] of patterns)
    t.equal(analysePattern(pattern, flags).randomMatchBits, bits, pattern);
});

t.test('a word beside it makes it rarer, a wide window less so', async (t) => {
  t.equal(keywordMatchBits([], 64), 0);
  t.equal(keywordMatchBits(['token'], 32), 20);
  t.equal(keywordMatchBits(['token', 'taken'], 32), 19);
  t.equal(keywordMatchBits(['id'], 1024), 0);
});
