import t from 'tap';
import type { Confidence } from '../../../src/core/call.ts';
import { createEngine, type DetectorEngine } from '../../../src/inspect/match/engine.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';
import { sha256Of, type Tuning } from '../../../src/inspect/patterns/tuning.ts';

const detector = (id: string, fields: Record<string, unknown>) =>
  detectorSchema.parse({
    ...{ id, title: id, class: 'INTERNAL', confidence: 'medium', examples: { match: ['x'], pass: ['y'] } },
    ...fields,
  });

const ticket = detector('ticket', { anchors: ['OPS-'], pattern: 'OPS-\\d{1,6}', placeholders: ['OPS-1'] });
const badge = detector('badge', { keywords: ['badge'], window: { after: 8 }, pattern: '\\d{4}' });
const card = detector('card', { digits: 13, pattern: '\\d{13,19}', check: 'luhn', failed_check: 'medium' });
const person = detector('person', { anchors: ['Dr '], pattern: 'Dr [A-Z][a-z]{1,9}', role: 'person' });
const note = detector('note', { words: ['relapse'], confidence: 'low', needs: ['person'] });
const engine = createEngine([ticket, badge, card, person, note]);

const limits = { matchesMax: 100, isOver: () => false };
const text = 'Dr Vogt: OPS-4711 and OPS-1, badge 8821, card 4111111111111111 or 4111111111111112, relapse';

const tuning = (fields: Partial<Tuning>): Tuning => ({
  ...{ off: new Set(), confidence: new Map(), allowSha256: new Set() },
  ...fields,
});
const sure = (...entries: [string, Confidence][]) => tuning({ confidence: new Map(entries) });

/** `id:confidence` of what the engine finds and what it takes for a hint. */
function found(on: DetectorEngine, of = text): string[] {
  const { matches, hints } = on.find(Buffer.from(of), limits);
  const all = [...matches, ...hints];
  return all.map((it) => `${it.detector.id}:${it.confidence}`).sort();
}

const untuned = [
  'badge:medium',
  'card:medium',
  'card:medium',
  'note:low',
  'person:medium',
  'ticket:low',
  'ticket:medium',
];
const without = (list: readonly string[], start: string) => list.filter((it) => !it.startsWith(start));

const cases: readonly { name: string; tuning: Tuning; want: readonly string[] }[] = [
  { name: 'nothing changes where nothing is asked', tuning: tuning({}), want: untuned },
  ...['ticket', 'badge', 'card', 'note'].map((id) => ({
    name: `a ${id} is not found with its detector off`,
    tuning: tuning({ off: new Set([id]) }),
    want: without(untuned, id),
  })),
  {
    name: 'a raised confidence leaves published values low',
    tuning: sure(['ticket', 'high']),
    want: [...without(untuned, 'ticket'), 'ticket:high', 'ticket:low'],
  },
  {
    name: 'a failed check is never surer than a passed one',
    tuning: sure(['card', 'low']),
    want: [...without(untuned, 'card'), 'card:low', 'card:low'],
  },
  {
    name: 'a failed check stays as sure as it was where a passed one is surer',
    tuning: sure(['card', 'high']),
    want: [...without(untuned, 'card'), 'card:high', 'card:medium'],
  },
  {
    name: 'what was said to be sure needs nobody beside it',
    tuning: sure(['note', 'medium']),
    want: [...without(untuned, 'note'), 'note:medium'],
  },
  {
    name: 'a text that is known is no finding, and all others are',
    tuning: tuning({ allowSha256: new Set([sha256Of(Buffer.from('OPS-4711'))]) }),
    want: without(untuned, 'ticket:medium'),
  },
];
for (const { name, tuning: wanted, want } of cases) {
  t.test(name, async (t) => {
    t.strictSame(found(engine.tuned(wanted)), [...want].sort());
    t.strictSame(found(engine), untuned, 'and the engine that it was made of is as it was');
  });
}

t.test('an allowed text must be the same to the last byte', async (t) => {
  const known = engine.tuned(tuning({ allowSha256: new Set([sha256Of(Buffer.from('OPS-47'))]) }));
  t.strictSame(found(known, 'OPS-471 OPS-47'), ['ticket:medium']);
});

t.test('allowed texts do not count against the number of findings', async (t) => {
  const known = engine.tuned(tuning({ allowSha256: new Set([sha256Of(Buffer.from('OPS-47'))]) }));
  const bytes = Buffer.from(`${'OPS-47 '.repeat(50)}OPS-48`);
  const { matches, uncounted } = known.find(bytes, { ...limits, matchesMax: 1 });
  t.equal(matches.length, 1);
  t.equal(uncounted.size, 0);
  t.equal(
    engine.find(bytes, { ...limits, matchesMax: 1 }).uncounted.size,
    1,
    'as they do where they are not',
  );
});

t.test('tuned engines can be tuned again', async (t) => {
  const twice = engine.tuned(tuning({ off: new Set(['ticket']) })).tuned(tuning({ off: new Set(['badge']) }));
  t.strictSame(found(twice), without(without(untuned, 'ticket'), 'badge'));
});
