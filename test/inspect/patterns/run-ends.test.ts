import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import { bitsOf } from '../../../src/inspect/patterns/alphabet.ts';
import { bytesMatching } from '../../../src/inspect/patterns/byte-set.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';
import { RunEnds } from '../../../src/inspect/patterns/run-ends.ts';

const letters = bitsOf(bytesMatching(/[a-z]/));

t.test('the end of a run is the same whichever place was asked for before', async (t) => {
  const bytes = Buffer.from(`abc def.${'x'.repeat(40)} y`);
  const naive = (start: number, limit: number): number => {
    let end = start;
    while (end < Math.min(limit, bytes.length) && /[a-z]/.test(String.fromCharCode(bytes[end] ?? 0)))
      end += 1;
    return end;
  };
  for (const step of [1, 3, 7, 11, 23]) {
    const ends = new RunEnds(bytes, letters);
    for (let round = 0; round < 200; round += 1) {
      const start = (round * step) % bytes.length;
      t.equal(ends.endOf(start, start + 12), naive(start, start + 12), `${step} ${round}`);
    }
  }
});

const facts: readonly (readonly [pattern: string, run: object | undefined])[] = [
  ['tok_[a-z]{4,8}(?![a-z])', { at: 4, min: 4, max: 8 }],
  ['tok_[a-z]{4,8}(?![0-9a-z])', { at: 4, min: 4, max: 8 }],
  [String.raw`tok[a-z]{2,6}\.[a-z]{3}`, { at: 3, min: 2, max: 6 }],
  ['[a-z]{2,6}[0-9]', { at: 0, min: 2, max: 6 }],
  // A match may end anywhere in the run.
  ['tok_[a-z]{4,8}', undefined],
  ['tok_[a-z]{4,8}(?![0-9])', undefined],
  ['tok_[a-z]{4,8}[0-9]?', undefined],
  ['tok_[a-z]{4,8}[x0-9]', undefined],
  // The place where a match begins counts.
  ['(?<![a-z])tok_[a-z]{4,8}(?![a-z])', undefined],
  [String.raw`tok_[a-z]{4,8}\.(?<=abc\.)`, undefined],
  ['(?:tok|ok)_[a-z]{4,8}(?![a-z])', undefined],
];
for (const [pattern, run] of facts)
  t.test(`${pattern} ${run ? 'has' : 'has no'} first run`, async (t) => {
    const { firstRun } = analysePattern(pattern);
    if (run) t.match(firstRun, run);
    else t.equal(firstRun, undefined);
  });

t.test('anchors within a run are found as if each were tried', async (t) => {
  for (const pattern of [String.raw`ab[a-c]{2,9}\.[a-c]{2,4}`, 'ab[a-c]{3,7}(?![a-c])']) {
    const detector = detectorSchema.parse({
      ...{ id: 'test', title: 'Test', class: 'PII', confidence: 'high', boundary: false, pattern },
      ...{ anchors: ['ab'], examples: { match: ['a'], pass: ['b'] } },
    });
    const engine = createEngine([detector]);
    const sticky = new RegExp(pattern, 'y');
    let random = 1;
    for (let round = 0; round < 300; round += 1) {
      let text = '';
      while (text.length < 200) {
        random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
        text += ['ab', 'c', 'a', 'abab', '.', ' '][(random >>> 8) % 6];
      }
      const want: number[] = [];
      let matchedTo = 0;
      for (const { index } of text.matchAll(/ab/g)) {
        sticky.lastIndex = index;
        if (index < matchedTo || !sticky.test(text)) continue;
        matchedTo = sticky.lastIndex;
        want.push(index);
      }
      const { matches } = engine.find(Buffer.from(text), { matchesMax: 999, isOver: () => false });
      t.same(
        matches.map(({ start }) => start),
        want,
        text,
      );
    }
  }
});
