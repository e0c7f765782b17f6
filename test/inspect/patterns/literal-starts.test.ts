import t from 'tap';
import { literalStartsOf } from '../../../src/inspect/patterns/literal-starts.ts';

const cases: readonly { pattern: string; flags?: string; want: readonly string[] }[] = [
  { pattern: 'ACME-[0-9]{8}', want: ['ACME-'] },
  { pattern: '(?<![A-Z])ACME-[0-9]{8}', want: ['ACME-'] },
  { pattern: '\\bacme_(?:live|test)_[0-9a-f]{32}', want: ['acme_live_', 'acme_test_'] },
  { pattern: '(?:ACME|FOO)[0-9]', want: ['ACME', 'FOO'] },
  { pattern: '(?:ACME|FOO|FOO)', want: ['ACME', 'FOO'] },
  { pattern: 'acme[0-9]', flags: 'i', want: ['acme'] },
  { pattern: 'ACME[0-9]', flags: 'i', want: ['acme'] },
  { pattern: '[Aa]cme', want: [] },
  { pattern: 'ab?c', want: ['a'] },
  { pattern: '(?:ab){2}c', want: ['ab'] },
  { pattern: '(?:ab){1}c', want: ['abc'] },
  { pattern: 'a?bc', want: [] },
  { pattern: '[0-9]{8}', want: [] },
  { pattern: '(?:ACME|[0-9])-x', want: [] },
  { pattern: '(?:ACME|)-x', want: ['ACME-x', '-x'] },
  { pattern: '\\xc3\\xbcber', want: [] },
  { pattern: '\\n-x', want: [] },
  { pattern: '(?=ACME)', want: [] },
  { pattern: '', want: [] },
];

for (const { pattern, flags = '', want } of cases) {
  t.test(`matches of /${pattern}/${flags} begin with ${want.join(' or ') || 'no literal'}`, async (t) => {
    t.strictSame(literalStartsOf(pattern, flags), want);
  });
}

t.test('at most 64 texts are given', async (t) => {
  const six = '(?:a|b|c|d|e|f)';
  t.equal(literalStartsOf(`${six}${six}`, '').length, 36);
  t.strictSame(literalStartsOf(`${six}${six}${six}`, ''), []);
  t.equal(
    literalStartsOf(`(?:${Array.from({ length: 64 }, (_, at) => `x${at}y`).join('|')})`, '').length,
    64,
  );
  t.strictSame(literalStartsOf(`(?:${Array.from({ length: 65 }, (_, at) => `x${at}y`).join('|')})`, ''), []);
});

t.test('a text has at most 32 characters', async (t) => {
  t.strictSame(literalStartsOf('a'.repeat(33), ''), ['a'.repeat(32)]);
});
