import t from 'tap';
import { looksRandom, missingOf, PieceEnds } from '../../../src/inspect/patterns/partial-secret.ts';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';
import { engine } from '../../support/detectors.ts';

const bodies: { pattern: string; want: { prefixes: number[]; min: number; max: number } | undefined }[] = [
  { pattern: 'gh[pousr]_[0-9A-Za-z]{36}(?![0-9A-Za-z])', want: { prefixes: [4], min: 36, max: 36 } },
  { pattern: '(?:pnu_|pn_)[0-9a-f]{40,64}', want: { prefixes: [4, 3], min: 40, max: 64 } },
  { pattern: 'ab(?:c|de)f[0-9]{2}[A-Z]{16}', want: { prefixes: [6, 7], min: 16, max: 16 } },
  { pattern: 'ab[0-9]{1,2}[A-Z]{16}', want: undefined },
  { pattern: 'ab[0-9A-Z]{15}', want: undefined },
  { pattern: 'ab[0-9A-Z]{10,40}', want: { prefixes: [2], min: 10, max: 40 } },
  { pattern: 'ab[0-9A-Z]{9,40}', want: undefined },
  { pattern: 'ab[0-9A-Z]{16}-[a-z]{16}x', want: { prefixes: [2], min: 34, max: 34 } },
  { pattern: 'key-[0-9A-Z]{93}AA', want: { prefixes: [4], min: 95, max: 95 } },
  { pattern: String.raw`ab\d\d-[0-9a-z]{20,30}`, want: { prefixes: [5], min: 20, max: 30 } },
  { pattern: String.raw`xyb-\d{8,14}-\d{8,14}-[a-z]{24}`, want: { prefixes: [4], min: 42, max: 54 } },
  { pattern: 'xy(?:a-[0-9]{8,9}-[a-z]{20}|b-[a-z]{30})', want: { prefixes: [4], min: 29, max: 30 } },
  { pattern: String.raw`abc[\w-]{10,90}\.[\w-]{10,90}`, want: undefined },
  { pattern: String.raw`abc\w{20}(?:\.\w{4}){2}`, want: undefined },
  { pattern: String.raw`ab-[0-9a-z]{20,300}(?:\.[0-9a-z]{2})?`, want: { prefixes: [3], min: 20, max: 300 } },
  { pattern: '(?:ab_[0-9]{36}|abc_[0-9]{76})(?![0-9])', want: { prefixes: [3], min: 36, max: 36 } },
  { pattern: 'abc', want: undefined },
];

for (const { pattern, want } of bodies) {
  t.test(`${want ? 'reads' : 'does not read'} the body off ${pattern}`, async (t) => {
    const body = analysePattern(pattern).tokenBody;
    t.same(body && { prefixes: [...body.prefixLengths], min: body.min, max: body.max }, want);
  });
}

t.test('a body has the alphabet of its pattern, without case where the pattern has none', async (t) => {
  const has = (flags: string, character: string) =>
    analysePattern('ab-[a-f]{20}', flags).tokenBody?.alphabet[character.charCodeAt(0)];
  t.same([has('', 'a'), has('', 'A'), has('i', 'A'), has('i', 'g')], [1, 0, 1, 0]);
});

const ends: { text: string; want: number }[] = [
  { text: 'ab-1234"', want: 7 },
  { text: 'ab-1234', want: 7 },
  { text: 'ab-1234\\n', want: 7 },
  { text: 'ab-1234&x=1', want: 7 },
  { text: 'ab-1234<', want: 7 },
  { text: 'ab-1234\n', want: 7 },
  { text: 'ab-1234 and more', want: -1 },
  { text: 'ab-1234*****"', want: -1 },
  { text: 'ab-1234…', want: -1 },
  { text: `ab-${'x'.repeat(600)}"`, want: -1 },
];

for (const { text, want } of ends) {
  t.test(
    `${want < 0 ? 'no value ends' : 'a value ends'} behind the token of ${text.slice(0, 20)}`,
    async (t) => t.equal(new PieceEnds(Buffer.from(text)).endOf(0), want),
  );
}

t.test('tells how much a token lacks, and of what is no piece of one nothing', async (t) => {
  const body = analysePattern('ab-[0-9A-Za-z]{20,24}').tokenBody;
  const missing = (text: string, anchorLength = 3) =>
    body && missingOf(body, Buffer.from(text), [0, text.length], anchorLength);
  t.same(missing('ab-x1y2z3'), { min: 14, max: 18 });
  t.equal(missing('ab-x1y2z'), undefined, 'five characters are too few');
  t.equal(missing('ab-abcdefgh'), undefined, 'a word');
  t.equal(missing('ab-x1y2_z3'), undefined, 'not of its alphabet');
  t.equal(missing(`ab-${'x1'.repeat(10)}`), undefined, 'nothing is missing');
  t.same(missing('ab-x1y2z3', 2), { min: 14, max: 18 }, 'an anchor that is a part of the prefix');
  t.equal(missing('ab-x1y2z3', 4), undefined, 'an anchor that is more than the prefix');
  t.same(missing('ab-20261121'), { min: 12, max: 16 }, 'a number');
  t.equal(missing('ab-2026112'), undefined, 'a short one');
});

t.test('words and numbers do not look random', async (t) => {
  for (const text of ['lantern', 'Lantern', '20261121', 'HTTP', '']) t.notOk(looksRandom(text), text);
  for (const text of ['a1b2c3', 'xYzaBc', 'QX7K2', 'x9']) t.ok(looksRandom(text), text);
});

t.test('the first few beginnings in a text are told, none that is whole', async (t) => {
  const find = (text: string) =>
    engine.find(Buffer.from(text), { matchesMax: 9, isOver: () => false }).partialSecrets;
  const piece = `glpat-${'aB3dE5gH7j'}`;
  t.match(find(JSON.stringify({ a: piece })), [{ start: 6, end: 22, missing: { min: 10 } }]);
  t.same(find(JSON.stringify({ a: `${piece}${piece.slice(6)}` })), [], 'whole');
  t.same(find(JSON.stringify({ a: `${piece} is how they begin` })), [], 'more follows');
  t.equal(find(JSON.stringify(Array.from({ length: 40 }, () => piece))).length, 16);
  const kinds = ['glpat-', 'dckr_pat_', 'npm_'].map((prefix) => prefix + piece.slice(6));
  const first = JSON.stringify(Array.from({ length: 300 }, (_, at) => kinds[Math.min(at, 299 - at) % 3]));
  const starts = Array.from(first.matchAll(/glpat-|dckr_pat_|npm_/g), ({ index }) => index);
  t.same(
    find(first).map(({ start }) => start),
    starts.slice(0, 16),
    'the first, in the order of the text',
  );
});
