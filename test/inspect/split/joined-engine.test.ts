import t from 'tap';
import { createEngine } from '../../../src/inspect/match/engine.ts';
import { detectorSchema } from '../../../src/inspect/patterns/detector.ts';
import { ownHost, ownMarker } from '../../../src/inspect/patterns/own-detectors.ts';
import { joinEngines } from '../../../src/inspect/split/joined-engine.ts';

const ticket = detectorSchema.parse({
  id: 'ticket',
  title: 'Ticket',
  class: 'INTERNAL',
  confidence: 'medium',
  anchors: ['OPS-'],
  pattern: 'OPS-\\d{1,6}',
  examples: { match: ['OPS-1'], pass: ['OPS-'] },
});
const own = [ownHost('git.acme.com'), ownMarker('Acme Only')];
const joined = joinEngines(createEngine([ticket], ['own-host', 'own-marker']), createEngine(own, ['ticket']));
const limits = { matchesMax: 100, isOver: () => false };

const kinds = (text: string, engine = joined): string[] =>
  engine.find(Buffer.from(text), limits).matches.map(({ detector }) => detector.id);

t.test('finds what both find, in the order of the text', async (t) => {
  t.strictSame(kinds('OPS-1 at git.acme.com, OPS-2, Acme Only'), [
    'ticket',
    'own-host',
    'ticket',
    'own-marker',
  ]);
  t.strictSame(kinds('Acme Only'), ['own-marker']);
  t.strictSame(kinds('OPS-1'), ['ticket']);
  t.strictSame(kinds('nothing'), []);
});

t.test('the bound on matches counts for each, and going past it is told', async (t) => {
  const find = (text: string, matchesMax: number) =>
    joined.find(Buffer.from(text), { ...limits, matchesMax });
  t.strictSame(find('OPS-1 git.acme.com', 2).uncounted, new Set());
  for (const text of ['OPS-1 OPS-2 OPS-3', 'git.acme.com Acme Only git.acme.com'])
    t.match(
      find(text, 2),
      { complete: true, uncounted: new Set(['INTERNAL']), matches: { length: 2 } },
      text,
    );
  const over = joined.find(Buffer.from('git.acme.com '.repeat(10_000)), {
    matchesMax: 100_000,
    isOver: () => true,
  });
  t.notOk(over.complete, 'and so is the end of the time');
});

t.test('tuning reaches both', async (t) => {
  const off = (...ids: string[]) =>
    joined.tuned({ off: new Set(ids), confidence: new Map(), allowSha256: new Set() });
  t.strictSame(kinds('OPS-1 git.acme.com Acme Only', off('ticket', 'own-host')), ['own-marker']);
  t.strictSame(kinds('OPS-1 git.acme.com', off('own-marker')), ['ticket', 'own-host']);
});

t.test('what one has redacted is no finding of the other', async (t) => {
  const loud = joinEngines(
    createEngine([ticket], ['own-host']),
    createEngine([ownMarker('ticket')], ['ticket']),
  );
  t.strictSame(kinds('[REDACTED:ticket] and [REDACTED:own-host]', loud), []);
  t.strictSame(kinds('a ticket', loud), ['own-marker']);
});
