import t from 'tap';
import { createEngine, type Found } from '../../../src/inspect/match/engine.ts';
import type { Detector } from '../../../src/inspect/patterns/detector.ts';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';
import { detectors } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

const limits = { matchesMax: 1_000_000, isOver: () => false };
const bytesMax = 256 * 1024;

const accepted = [
  { pattern: 'ghp_[0-9A-Za-z]{36}', reachMax: 40, behindMax: 0, aheadMax: 0 },
  { pattern: '(?<![a-z])x{2,3}$', reachMax: 3, behindMax: 2, aheadMax: 1 },
  { pattern: '(?:[a-z]{1,9}\\.){1,8}x(?=yz)', reachMax: 83, behindMax: 0, aheadMax: 2 },
  { pattern: '(?:\\d[ -]?){13,19}', reachMax: 38, behindMax: 0 },
  { pattern: '[a-z]{0,100}[0-9]{0,100}[a-z]{0,100}', reachMax: 300, behindMax: 0 },
  { pattern: '(?:ab|cd){1,50}', reachMax: 100, behindMax: 0 },
  { pattern: 'a(?!b{2,5}(?=c{3}))d', reachMax: 9, behindMax: 0, aheadMax: 8 },
  { pattern: '(?:[^a-z]{1,3}[a-z]{1,5}){2,9}', reachMax: 72, behindMax: 0 },
  { pattern: '-----BEGIN [^-]{0,4096}-----', reachMax: 4112, behindMax: 0 },
];
for (const { pattern, ...bounds } of accepted) {
  t.test(`takes ${pattern}`, (t) => {
    t.match(analysePattern(pattern).bounds, bounds);
    t.end();
  });
}

const refused = [
  'a*',
  'a+',
  'a{2,}',
  'a{1,5000}',
  '(?:a{1,5}){1,5}',
  '(?:a?){1,50}',
  '(?:a|a){1,50}',
  '(?:a|aa){1,30}',
  '(?:a[bc]|ab){1,30}',
  '(?:[a-z]{1,9}[.a-z]){1,8}',
  '(?:[a-z]{1,9}[.]{1,3}[_a-z]{1,9}){1,8}',
  '(?:[a-z]{1,9}[.]{0,3}){1,8}',
  '[ab]{0,100}[bc]{0,100}[cb]{0,100}',
  '(a)\\1',
  '(?<n>a)\\k<n>',
  '\\p{L}',
  'a{',
  '(a',
  'a)',
  '[a',
  '[\\d-x]',
  '[a-\\w]',
  '\\u0041',
  '*a',
  '(?i:a)',
  '\u0416',
];
for (const pattern of refused) {
  t.test(`refuses ${pattern}`, (t) => {
    t.throws(() => analysePattern(pattern), { name: 'PatternError' });
    t.end();
  });
}

t.test('reads character classes as the engine of JavaScript does', (t) => {
  // A group is accepted only where its separator is disjoint, so acceptance tells what is in a class.
  const disjoint = (a: string, b: string, flags = ''): boolean => {
    try {
      return analysePattern(`(?:${a}{1,2}${b}){1,2}`, flags) !== undefined;
    } catch {
      return false;
    }
  };
  t.ok(disjoint('[a-f0-9]', '[g-z]'));
  t.notOk(disjoint('[a-f0-9]', '[F-Z]', 'i'));
  t.ok(disjoint('[^\\s"]', '[ "]'));
  t.notOk(disjoint('[\\w-]', '_'));
  t.ok(disjoint('[]', 'a'));
  t.notOk(disjoint('[^]', 'a'));
  t.ok(disjoint('[\\x41-\\x43]', 'D'));
  t.notOk(disjoint('[\\x41-\\x43]', '\\x42'));
  t.ok(disjoint('.', '\\n'));
  t.notOk(disjoint('.', '\\n', 's'));
  t.notOk(disjoint('[a\\-z]', '-'));
  t.ok(disjoint('[a\\-z]', 'b'));
  t.end();
});

/** Texts that make a detector work for nothing: what opens it, over and over, alone and with almost a match behind. */
function attacksOn(detector: Detector): string[] {
  const openings = [...detector.anchors, ...detector.keywords, ...detector.words].slice(0, 2);
  const example = expandSample(examplesOf(detector).match[0] as string);
  const nearMisses = [
    example.slice(0, -1),
    example.slice(0, example.length >> 1),
    `${example.slice(0, -2)}\x01`,
  ];
  const fillings = openings.flatMap((word) =>
    ['a', '0', 'A', ' ', '=', '-', '"'].map((filling) => word + filling.repeat(64)),
  );
  return [
    ...openings,
    ...openings.map((word) => `${word} `),
    ...openings.map((word) => `${word}=`),
    ...nearMisses,
    ...fillings,
  ];
}

const fill = (unit: string, size: number): Buffer => Buffer.alloc(size, unit || 'x', 'latin1');
/** Work of the square of a text, be it one step for a thousand bytes, is far above what happens at its ends. A long reach needs longer texts. */
const shortReachMax = 1024;
const sizeFor = ({ bounds }: Detector): number => (bounds.reachMax <= shortReachMax ? 8 : 16) * 1024;
const workOf = ({ attempts, searchedBytes }: Found): number => attempts + searchedBytes;

/** What makes a detector look that looks only around others. */
const bait = detectors.filter(({ words, role }) => words.length > 0 && role !== undefined);
const baitFor = ({ near }: Detector): Detector[] =>
  bait.filter(({ role }) => role !== undefined && near.includes(role)).slice(0, 1);

for (const detector of detectors) {
  t.test(`${detector.id} does work in proportion to hostile text`, (t) => {
    const others = baitFor(detector);
    const engine = createEngine([detector, ...others]);
    const baits = others.map(({ words }) => ` ${words[0]} `);
    const units = attacksOn(detector);
    const size = sizeFor(detector);
    for (const unit of [...units, ...baits, ...baits.flatMap((word) => units.map((unit) => word + unit))]) {
      const half = workOf(engine.find(fill(unit, size), limits));
      const whole = workOf(engine.find(fill(unit, 2 * size), limits));
      // Twice the text, twice the work, but for what happens at its ends: what begins near one is searched in less than its reach.
      const { reachMax } = detector.bounds;
      const cutShort = unit.length >= 64 ? reachMax * Math.ceil(reachMax / unit.length) : 0;
      if (whole > 2 * half + 2 * (reachMax + 1024) + cutShort) t.fail(`${whole} after ${half}`);
    }
    t.pass(`${units.length} texts`);
    t.end();
  });
}

t.test('all detectors together do bounded work on 256 KB of anything', (t) => {
  const engine = createEngine(detectors);
  const digits = ['1', '12 ', '1234 ', '123-45-', '+1 ', '4111'];
  const signs = [
    '@',
    'a@',
    '=',
    '-',
    '"',
    '\\',
    ':',
    '/',
    '.',
    ' ',
    '\n',
    '\x00',
    '\xff',
    '{',
    '://',
    'eyJ',
    'eyJ.',
    '-----BEGIN ',
  ];
  for (const unit of ['a', 'A', 'f', ...digits, ...signs]) {
    const { attempts, searchedBytes } = engine.find(fill(unit, bytesMax), limits);
    t.ok(
      attempts <= 8 * bytesMax && searchedBytes <= 40 * bytesMax,
      `${JSON.stringify(unit)}: ${attempts}, ${searchedBytes}`,
    );
  }
  t.end();
});
