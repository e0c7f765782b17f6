import t from 'tap';
import type { Confidence } from '../../../src/core/call.ts';
import { type PlacedFinding, weighHints } from '../../../src/inspect/match/evidence.ts';
import type { DetectorRole } from '../../../src/inspect/patterns/detector.ts';

interface Fields {
  role?: DetectorRole;
  needs?: readonly DetectorRole[];
  confidence?: Confidence;
  at: number;
  length?: number;
}

const placed = ({ role, needs = [], confidence = 'low', at, length = 8 }: Fields): PlacedFinding => ({
  match: { detector: { role, needs, class: 'PHI' }, confidence },
  start: at,
  end: at + length,
});

const illness = (at: number): PlacedFinding =>
  placed({ role: 'health', needs: ['patient', 'identifier'], at });
const name = (at: number): PlacedFinding => placed({ role: 'person', needs: ['contact', 'identifier'], at });
const number = (at: number, confidence: Confidence = 'medium'): PlacedFinding =>
  placed({ role: 'identifier', confidence, at });
const confidences = (found: readonly PlacedFinding[]): string[] => found.map(({ match }) => match.confidence);

const cases: readonly { name: string; found: PlacedFinding[]; hints: PlacedFinding[]; want: string[] }[] = [
  {
    name: 'a word of health beside a number that points to somebody counts',
    found: [number(100)],
    hints: [illness(0)],
    want: ['medium'],
  },
  {
    name: 'one before or behind, at a kilobyte',
    found: [number(2000)],
    hints: [illness(969), illness(3031)],
    want: ['medium', 'medium'],
  },
  {
    name: 'a word of health farther away is none',
    found: [number(2000)],
    hints: [illness(967), illness(3033)],
    want: [],
  },
  { name: 'a name alone stays low', found: [], hints: [name(0)], want: ['low'] },
  {
    name: 'two names do not make each other sure',
    found: [],
    hints: [name(0), name(20)],
    want: ['low', 'low'],
  },
  {
    name: 'a number that only might be one supports nothing',
    found: [number(20, 'low')],
    hints: [name(0), illness(40)],
    want: ['low'],
  },
  {
    name: 'hints support each other where they need each other',
    found: [],
    hints: [illness(0), placed({ role: 'patient', needs: ['health'], at: 30 })],
    want: ['medium', 'medium'],
  },
  {
    name: 'what has no role supports nothing',
    found: [placed({ confidence: 'high', at: 5 })],
    hints: [name(0)],
    want: ['low'],
  },
  {
    name: 'a long finding reaches over later short ones',
    found: [placed({ role: 'identifier', confidence: 'high', at: 0, length: 9000 }), number(10)],
    hints: [illness(9500)],
    want: ['medium'],
  },
];
for (const { name, found, hints, want } of cases) {
  t.test(name, (t) => {
    t.same(confidences(weighHints(found, hints)), want);
    t.same(
      confidences(weighHints(found.toReversed(), hints.toReversed())),
      want.toReversed(),
      'in any order',
    );
    t.end();
  });
}

t.test('leaves what it was given as it was, and keeps what else it carries', (t) => {
  const hint = { ...illness(0), location: 'body' };
  t.match(weighHints([{ ...number(9), location: 'head' }], [hint]), [{ location: 'body', start: 0, end: 8 }]);
  t.equal(hint.match.confidence, 'low');
  t.end();
});

t.test('weighs any number of hints', (t) => {
  const hints = Array.from({ length: 50_000 }, (_, at) => illness(at * 4));
  t.equal(weighHints([number(100_000)], hints).length, 515);
  t.end();
});
