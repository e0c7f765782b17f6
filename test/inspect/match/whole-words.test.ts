import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import { standsAsWord } from '../../../src/inspect/match/token-start.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';

const words = [
  { text: 'sin', is: true },
  { text: 'the sin is', is: true },
  { text: '"sin":', is: true },
  { text: 'customer_sin_2', is: true },
  { text: 'customerSin', is: true },
  { text: 'sinNumber', is: true },
  { text: 'sin2', is: true },
  { text: '\\nsin', is: true },
  { text: 'sinnr: 1', is: true },
  { text: 'SINNO=1', is: true },
  { text: 'sinsnummer', is: true },
  { text: 'sin_numero', is: true },
  { text: 'sinnumbers', is: false },
  { text: 'sinnone', is: false },
  { text: 'sinsenummer', is: false },
  { text: 'using', is: false },
  { text: 'since', is: false },
  { text: 'SINCE', is: false },
  { text: 'cousin', is: false },
  { text: '2sin', is: false },
];
for (const { text, is } of words) {
  t.test(`${is ? 'takes' : 'does not take'} a word where it stands as in ${JSON.stringify(text)}`, (t) => {
    const start = text.toLowerCase().indexOf('sin');
    t.equal(standsAsWord(Buffer.from(text), start, start + 3), is);
    t.end();
  });
}

const engine = createEngine([
  detectorSchema.parse({
    id: 'number',
    title: 'A number',
    class: 'PII',
    confidence: 'medium',
    keywords: ['sin'],
    whole_words: true,
    window: { before: 16, after: 16 },
    pattern: '\\d{3}-?\\d{3}|[A-Z]\\d{5}',
    examples: { match: ['sin 123456'], pass: ['123456'] },
  }),
]);

const texts = [
  { text: 'sin 123456', found: ['123456'] },
  { text: 'sin:\\n123-456.', found: ['123-456'] },
  { text: '123456 (sin)', found: ['123456'] },
  { text: 'sin="A12345", 123456', found: ['A12345', '123456'] },
  { text: 'using 123456', found: [] },
  { text: 'sin 1234567', found: [] },
  { text: 'sin x123456', found: [] },
  { text: 'sin 0.123456', found: [] },
  { text: 'sin 123456.7', found: [] },
  { text: 'sin 2024-123456', found: [] },
  { text: 'sin but no number', found: [] },
  { text: `sin ${' '.repeat(17)}123456`, found: [] },
  { text: `sin but none here ${'-'.repeat(40)} sin 123456`, found: ['123456'] },
  { text: 'sin 1 123456', found: ['123456'] },
  { text: `sin 1${' '.repeat(10)}123456`, found: ['123456'] },
  { text: `sin 123456${' '.repeat(4)}654321`, found: ['123456', '654321'] },
];
/** Words in which chance or a name put the keyword, each with a number beside it. */
const surroundings = [
  { text: `wNwGQReiF+wATmPagfD0dqwry0I3T4owXB6cPkXibJLeDRm/Sin/Ljb4w8 123456`, found: [] },
  { text: `123456 7dFf2+Sin/wNwGQReiF+wATmPagfD0dqwry0I3T4owXB6cPkXibJLeDRm`, found: [] },
  { text: '/v1/customers/by-number/of/canada/people/with/the/sin/123456', found: ['123456'] },
  { text: 'getTheCustomerOfTheAccountByTheNumberOf/customerSin/123456', found: ['123456'] },
  { text: `/objects/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c/ sin 123456`, found: ['123456'] },
  { text: `wNwGQReiF+wATmPagfD0dqwry0I3T4owXB6cPkXibJLeDRm: sin 123456`, found: ['123456'] },
];
for (const { text, found } of [...texts, ...surroundings]) {
  t.test(`finds ${found.length} in ${JSON.stringify(text)}`, (t) => {
    const { matches } = engine.find(Buffer.from(text), { matchesMax: 10, isOver: () => false });
    t.same(
      matches.map(({ start, end }) => text.slice(start, end)),
      found,
    );
    t.end();
  });
}

const patterns = [
  { pattern: '\\d{9}', lead: 1 },
  { pattern: '[A-Z]{3}\\d', lead: 4 },
  { pattern: '(?=[A-Z]{0,8}\\d)[A-Z0-9]{9}', lead: 9 },
  { pattern: '[A-Z]\\d|\\d[A-Z]', lead: 2 },
  { pattern: '(?:[a-z]-[0-4]){2}', lead: 3 },
  { pattern: '[A-Z]\\d|[A-Z]{2}', lead: undefined },
  { pattern: '[A-Z]\\d{0,3}', lead: undefined },
  { pattern: '(?!\\d)[A-Z]', lead: undefined },
  { pattern: '(?<=\\d)[A-Z]', lead: undefined },
  { pattern: '\\w{9}', lead: undefined },
];
for (const { pattern, lead } of patterns) {
  const name = lead ? `has a digit in its first ${lead} bytes` : 'may be without a digit';
  t.test(`a match of ${pattern} ${name}`, (t) => {
    t.equal(analysePattern(pattern).digitLead, lead);
    t.end();
  });
}
