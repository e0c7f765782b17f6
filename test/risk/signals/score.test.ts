import t from 'tap';
import type { Operation, Signal } from '../../../src/core/call.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { externalPrincipal } from '../../../src/risk/signals/external-principal.ts';
import { describeMark, lowTrust, trustMin } from '../../../src/risk/signals/low-trust.ts';
import {
  bandOf,
  defaultWeights,
  floorOf,
  riskOf,
  riskParts,
  type SignalWeights,
  trustModifier,
} from '../../../src/risk/signals/score.ts';
import { type CallParts, callOf, findingOf } from '../../support/call.ts';

const signalOf = (engine: string, score: number, name: Signal['name'] = 'LOW_TRUST'): Signal => ({
  engine,
  name,
  score,
  details: ownName(''),
});
const half: SignalWeights = { a: 1, b: 1 };

const scores: readonly {
  name: string;
  signals: readonly Signal[];
  weights?: SignalWeights;
  modifier?: number;
  floor?: number;
  score: number;
}[] = [
  { name: 'nothing', signals: [], score: 0 },
  { name: 'one engine of two', signals: [signalOf('a', 1)], score: 0.5 },
  { name: 'both', signals: [signalOf('a', 1), signalOf('b', 0.5)], score: 0.75 },
  {
    name: 'the gravest of an engine counts once',
    signals: [signalOf('a', 0.4), signalOf('a', 1), signalOf('a', 0.9)],
    score: 0.5,
  },
  { name: 'an engine without a weight', signals: [signalOf('content', 1), signalOf('a', 0.5)], score: 0.25 },
  { name: 'weights of nothing', signals: [signalOf('a', 1)], weights: {}, score: 0 },
  { name: 'weights that are 0', signals: [signalOf('a', 1)], weights: { a: 0, b: 0 }, score: 0 },
  { name: 'an engine whose weight is 0', signals: [signalOf('b', 1)], weights: { a: 1, b: 0 }, score: 0 },
  { name: 'lost trust', signals: [signalOf('a', 1)], modifier: 0.2, score: 0.7 },
  { name: 'whole trust', signals: [signalOf('a', 1)], modifier: -0.1, score: 0.4 },
  { name: 'never below 0', signals: [], modifier: -0.1, score: 0 },
  { name: 'never above 1', signals: [signalOf('a', 1), signalOf('b', 1)], modifier: 0.2, score: 1 },
  { name: 'lost trust alone', signals: [], modifier: 0.2, score: 0.2 },
  { name: 'a floor', signals: [signalOf('a', 0.1)], modifier: -0.1, floor: 0.6, score: 0.6 },
  { name: 'a floor that is reached', signals: [signalOf('a', 1), signalOf('b', 1)], floor: 0.6, score: 1 },
  { name: 'a threat', signals: [signalOf('a', 0, 'THREAT_INTEL_MATCH')], modifier: -0.1, score: 0.75 },
  {
    name: 'content that was read before',
    signals: [signalOf('a', 1, 'READ_THEN_WRITE')],
    weights: {},
    modifier: -0.1,
    score: 0.75,
  },
  {
    name: 'a class that was read before',
    signals: [signalOf('a', 0.5, 'READ_THEN_WRITE')],
    weights: {},
    score: 0,
  },
  { name: 'content of others', signals: [signalOf('a', 1, 'CROSS_AGENT_EXFIL')], weights: {}, score: 0.75 },
  {
    name: 'floors do not add up',
    signals: [signalOf('a', 1, 'READ_THEN_WRITE'), signalOf('a', 1, 'THREAT_INTEL_MATCH')],
    weights: {},
    floor: 0.6,
    score: 0.75,
  },
];

for (const { name, signals, weights = half, modifier = 0, floor = 0, score } of scores) {
  t.test(`the risk of ${name} is ${score}`, async (t) => {
    t.equal(riskOf(signals, weights, { modifier, floor }), score);
    const parts = riskParts(signals, weights);
    t.equal(parts.length, new Set(signals.map((it) => it.engine)).size, 'all engines that speak are shown');
    t.ok(parts.every(({ part }) => part >= 0 && part <= 1));
  });
}

t.test('parts are those of the weighted mean', async (t) => {
  const signals = [
    signalOf('classifier', 1),
    signalOf('baseline', 0.5),
    signalOf('baseline', 0.8),
    signalOf('trust', 1),
  ];
  const parts = riskParts(signals, defaultWeights);
  const rounded = parts.map(({ engine, part }) => [engine, Math.round(part * 1_000) / 1_000]);
  t.same(rounded, [
    ['classifier', 0.333],
    ['baseline', 0.133],
    ['trust', 0],
  ]);
  t.equal(riskOf(signals, defaultWeights), 0.467);
});

t.test('trust moves the score from a tenth less to a fifth more', async (t) => {
  const cases: readonly (readonly [trust: number, modifier: number])[] = [
    [1, -0.1],
    [0.8, -0.05],
    [0.6, 0],
    [0.3, 0.1],
    [0, 0.2],
  ];
  for (const [trust, modifier] of cases) t.equal(trustModifier(trust, 500) + 0, modifier, `trust ${trust}`);
  let last = Number.POSITIVE_INFINITY;
  for (let parts = 0; parts <= 10_000; parts += 1) {
    const modifier = trustModifier(parts / 10_000, 500);
    if (!(modifier <= last)) t.fail(`more trust in ${parts} adds more`);
    last = modifier;
  }
});

t.test('a secret that nobody could mistake has a floor, unless it is at home', async (t) => {
  const cases: readonly (readonly [fields: Parameters<typeof findingOf>[0], floor: number])[] = [
    [{}, 0.6],
    [{ atHome: true }, 0],
    [{ confidence: 'medium' }, 0],
    [{ class: 'PHI' }, 0],
  ];
  for (const [fields, floor] of cases) {
    t.equal(floorOf(callOf({ findings: [findingOf(fields)] })), floor, JSON.stringify(fields));
  }
  t.equal(floorOf(callOf()), 0);
});

t.test('bands begin at their bounds', async (t) => {
  const bounds = { MEDIUM: 0.25, HIGH: 0.5, CRITICAL: 0.75 };
  const scored = [0, 0.249, 0.25, 0.499, 0.5, 0.749, 0.75, 1].map((it) => bandOf(it, bounds));
  t.same(scored, ['LOW', 'LOW', 'MEDIUM', 'MEDIUM', 'HIGH', 'HIGH', 'CRITICAL', 'CRITICAL']);
});

t.test('lost trust is told, with what was held against the agent last', async (t) => {
  const signalOf = (trustScore: number, marks = 0) => {
    const trustMarks = Array.from({ length: marks }, (_, at) => ({
      ...({ cause: 'denial', parts: 500, atMs: 0 } as const),
      traceId: `t${at}`,
    }));
    const call = callOf({ trustScore, trustMarks });
    return lowTrust.assess(call, call.evidence);
  };
  t.equal(signalOf(1, 9), undefined);
  t.equal(signalOf(trustMin, 9), undefined);
  t.match(signalOf(0.5999, 9), {
    ...{ engine: 'trust', name: 'LOW_TRUST', score: 0.4 },
    details: /trust in the agent is 0\.5999; .*: .*trace t5\), .*t6\), .*t7\), .*t8\)$/,
  });
  t.match(signalOf(0), { score: 1, details: 'trust in the agent is 0; last held against it: nothing' });
  const mark = { cause: 'analyst-denial', parts: 1_000, atMs: 0, traceId: 'x' } as const;
  t.equal(describeMark(mark), 'a denial by an analyst (-0.1, 1970-01-01T00:00:00.000Z, trace x)');
});

t.test('whoever is addressed outside is told by number, not by name', async (t) => {
  const operation: Operation = {
    ...{ toolName: 'gmail', name: 'send_message', category: 'mail', verb: 'WRITE' },
    ...{ resource: {}, principals: [] },
  };
  const signalOf = (fields: CallParts) => {
    const call = callOf({ isExternal: true, operation, ...fields });
    return externalPrincipal.assess(call, call.evidence);
  };
  const to = (...principals: readonly string[]) => ({ operation: { ...operation, principals } });
  const cases: readonly (readonly [fields: CallParts, whom: string | undefined])[] = [
    [to('a@x.example'), 'somebody'],
    [to('a@x.example', 'b@y.example'), 'some of 2 principals'],
    [to(...Array.from({ length: 9 }, (_, at) => `${at}@x.example`)), 'some of 9 principals'],
    [{ operation: { ...operation, parts: [to('a@x.example')] } }, 'somebody'],
    [{ ...to('a@x.example'), isExternal: false }, undefined],
    [{}, undefined],
    [{ findings: [findingOf()] }, 'a host'],
    [{ findings: [findingOf({ confidence: 'low' }), findingOf({ atHome: true })] }, undefined],
  ];
  for (const [fields, whom] of cases) {
    const details = whom && `it addresses ${whom} outside the organisation`;
    t.equal(signalOf(fields)?.details, details, JSON.stringify(fields));
  }
});
