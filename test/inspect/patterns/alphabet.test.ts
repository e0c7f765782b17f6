import t from 'tap';
import { endOf, has, mayBegin, NextPlaces, nextOf } from '../../../src/inspect/patterns/alphabet.ts';
import type { Detector } from '../../../src/inspect/patterns/detector.ts';
import { analysePattern } from '../../../src/inspect/patterns/pattern-facts.ts';
import { detectors } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

const places: readonly (readonly [pattern: string, text: string, next: number])[] = [
  ['[0-9]{4}', 'a123 1234', 5],
  ['[0-9]{4}', '123 123 123', 11],
  ['[0-9]{4}', '1234', 0],
  ['[0-9]{4}', '123', 3],
  ['ab[0-9]{2,9}', 'ab12', 0],
  ['ab[0-9]{2,9}', 'x12a', 4],
  ['ab[0-9]{2,9}', 'x21ab', 1],
  ['(?:[0-9]{3} ){2}', '123 45-678 901 ', 7],
  ['[0-9]{3}(?:-[a-z]{2})?', '!-a12', 1],
  ['[0-9]{6}|[a-z]{3}', '12!ab1', 3],
  ['(?=[a-z]{9})[0-9]{2}(?<=x)', 'abcdefghi12', 9],
  [String.raw`\b[0-9]{2}\b`, 'a 12', 2],
  ['[0-9]{0,9}', '!', 0],
  [String.raw`[^\n]{3}`, 'a\nbc\ndef', 5],
  [String.raw`[\x80-\xff]{2}`, '\u00e9x\u00e9\u00ff', 2],
];

for (const [pattern, text, next] of places) {
  t.test(`${pattern} may match ${JSON.stringify(text)} from ${next} on`, async (t) => {
    const { alphabet } = analysePattern(pattern);
    t.equal(nextOf(alphabet, Buffer.from(text, 'latin1'), 0, text.length), next);
  });
}

t.test('the next place is the same whichever places were asked for before', async (t) => {
  const { alphabet } = analysePattern('[0-9]{3}');
  const bytes = Buffer.from('12 345 6 789012 3 45 678 '.repeat(4));
  for (const step of [1, 2, 5, 9, 31, 57]) {
    const places = new NextPlaces(bytes);
    for (let round = 0; round < 150; round += 1) {
      const start = (round * step) % bytes.length;
      const known = places.nextOf(alphabet, start, start + 10);
      t.equal(known, nextOf(alphabet, bytes, start, start + 10), `${step} ${round}`);
      if (round % 40 === 0) places.forget();
    }
  }
});

t.test('looks at no place outside of the region, and takes what reaches out of it', async (t) => {
  const { alphabet } = analysePattern('[0-9]{4}');
  const bytes = Buffer.from('1234 12345');
  t.same(
    [nextOf(alphabet, bytes, 1, 5), nextOf(alphabet, bytes, 1, 6), nextOf(alphabet, bytes, 7, 10)],
    [5, 5, 10],
  );
});

t.test('a match ends at the next byte that it cannot have', async (t) => {
  const { alphabet } = analysePattern('ab[0-9]{2,9}');
  const bytes = Buffer.from('ab12 ab345');
  t.same(
    [endOf(alphabet, bytes, 2, 9), endOf(alphabet, bytes, 4, 9), endOf(alphabet, bytes, 6, 9)],
    [4, 4, 9],
  );
  t.equal(endOf(alphabet, bytes, 6, 90), 10);
});

t.test('no place is passed over at which a detector matches its examples', async (t) => {
  for (const detector of detectors) {
    const { pattern, flags, alphabet, core, head, besideKeyword, runLength, digitLead, id } = detector;
    if (pattern === '') continue;
    const { match, pass } = examplesOf(detector);
    for (const text of [...match, ...pass].map((example) => Buffer.from(expandSample(example)))) {
      for (const { 0: whole, index } of text.toString('latin1').matchAll(new RegExp(pattern, `${flags}g`))) {
        if (nextOf(alphabet, text, index, index + 1) !== index) t.fail(id);
        if (endOf(alphabet, text, index + 1, text.length) < index + whole.length) t.fail(id);
        const coreTo = index + core.lead + 1;
        if (nextOf(core.alphabet, text, index, coreTo) === coreTo) t.fail(`the core of ${id}`);
        if (!mayBegin(head, text, index)) t.fail(`the head of ${id}`);
        if (!/^[0-9A-Za-z]*$/.test(whole.slice(0, runLength))) t.fail(`the run of ${id}`);
        const ahead = text.toString('latin1', index, index + (digitLead ?? 0));
        if (digitLead !== undefined && !/\d/.test(ahead)) t.fail(`the digit of ${id}`);
        if (besideKeyword && !standsBeside(besideKeyword, whole)) t.fail(`the keyword of ${id}`);
      }
    }
  }
});

/** Whether one of the at signs of the match has the bytes beside it that it may have. */
const standsBeside = (
  { before, behind }: Exclude<Detector['besideKeyword'], undefined>,
  match: string,
): boolean =>
  [...match].some(
    (sign, at) =>
      sign === '@' &&
      has(before, match.charCodeAt(at - 1)) &&
      (at + 1 === match.length || has(behind, match.charCodeAt(at + 1))),
  );
