import t from 'tap';
import { decodeViews } from '../../../src/inspect/decode/views.ts';
import { type Found, Verdicts } from '../../../src/inspect/match/engine.ts';
import { detectors, engine } from '../../support/detectors.ts';
import { examplesOf } from '../../support/examples.ts';
import { expandSample } from '../../support/samples.ts';

const limits = { matchesMax: 100_000, isOver: () => false };
const bounds = { depthMax: 3, maxDecodedBytes: 1 << 24, isOver: () => false };

const shown = ({ matches, hints, partialSecrets }: Found): string[] =>
  [...matches, ...hints, ...partialSecrets].map(
    ({ detector, start, end }) => `${detector.id} ${start} ${end}`,
  );

/** An escape in the midst of every third part. */
const dressed = (part: string, index: number): string => {
  const middle = index % part.length;
  const code = part.charCodeAt(middle);
  if (index % 3 > 0 || code > 0x7f) return part;
  return `${part.slice(0, middle)}\\u${code.toString(16).padStart(4, '0')}${part.slice(middle + 1)}`;
};

t.test('finds the same whether or not earlier forms of a text are known', async (t) => {
  let saved = 0;
  for (const [index, detector] of detectors.entries()) {
    const { match, pass } = examplesOf(detector);
    const parts = [...match, ...match, ...pass, ...match].map((example) => expandSample(example));
    // Far enough apart that some of them are seen without an escape, and near enough that others are not.
    const text = parts.map((part, at) => `${dressed(part, index + at)}\n${'-'.repeat(at * 150)}\n`).join('');
    const { views } = decodeViews(Buffer.from(text), bounds);
    const verdicts = new Verdicts();
    for (const { bytes, outline, isKnown } of views) {
      const alone = engine.find(bytes, limits, outline);
      const after = engine.find(bytes, limits, outline, { verdicts, isKnown });
      t.same(shown(after), shown(alone), detector.id);
      saved += alone.searchedBytes - after.searchedBytes;
    }
  }
  t.ok(saved > 0, 'and searches less');
});

t.test('a secret is judged once, and what was met is known', async (t) => {
  const [detector] = detectors.filter(({ id }) => id === 'payment-card');
  if (!detector) throw new Error('no detector of cards');
  const verdicts = new Verdicts();
  t.notOk(verdicts.hasMet(detector));
  t.equal(verdicts.confidenceOf(detector, undefined), undefined);
  t.ok(verdicts.hasMet(detector), 'also where there was nothing to judge');
  t.notOk(verdicts.hasAccepted(detector));
  for (const number of ['4111111111111112', '5500005555555559', '4111111111111112'])
    t.equal(verdicts.confidenceOf(detector, number), new Verdicts().confidenceOf(detector, number));
});

t.test('what was accepted is known', async (t) => {
  const [detector] = detectors.filter(({ id }) => id === 'payment-card');
  if (!detector) throw new Error('no detector of cards');
  const verdicts = new Verdicts();
  const accepted = ['4111111111111112', '4012888888881881'].map((number) => {
    verdicts.confidenceOf(detector, number);
    return verdicts.hasAccepted(detector);
  });
  t.same(accepted, [false, true]);
});

t.test('goes on judging when it knows too many', async (t) => {
  const [detector] = detectors.filter(({ id }) => id === 'us-ssn');
  if (!detector) throw new Error('no detector of numbers');
  const verdicts = new Verdicts();
  for (let number = 0; number < 5000; number += 1) verdicts.confidenceOf(detector, `000-00-${number}`);
  const fresh = new Verdicts();
  for (const number of ['536-22-8713', '000-00-4999'])
    t.equal(verdicts.confidenceOf(detector, number), fresh.confidenceOf(detector, number));
});
