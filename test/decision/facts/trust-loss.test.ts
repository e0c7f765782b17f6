import t from 'tap';
import type { Decision, Signal, Threat, Verdict } from '../../../src/core/call.ts';
import { noHabits, type TrustMark } from '../../../src/core/history.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import { toParts, trustLossOf, trustTermsOf } from '../../../src/decision/facts/trust-loss.ts';
import { type CallParts, callOf } from '../../support/call.ts';
import { trustLosses } from '../../support/noticing.ts';

const nowMs = Date.UTC(2026, 2, 4);

const verdictOf = (decision: Decision, reasonCodes: readonly string[]): Verdict => ({
  ...{
    decision,
    reasonCodes,
    classifications: [],
    explanation: [],
    matchedRules: [],
    decidedBy: undefined,
  },
  ...{
    tags: [],
    escalateTo: [],
    violations: [],
    wouldBe: undefined,
    sanitizedBody: undefined,
    approval: undefined,
  },
});
const threat = (location: Threat['location']): Threat => ({
  ...{ feed: 'urlhaus', kind: 'host', indicator: 'x.example', reference: '', threat: '' },
  location,
});
const anomaly = (score: number, name: Signal['name'] = 'BASELINE_ANOMALY'): Signal => ({
  ...{ engine: 'baseline', name, details: ownName('') },
  score,
});
const secret: Signal = { engine: 'classifier', name: 'SENSITIVE_DATA', score: 0.8, details: ownName('') };
const anomalies = (count: number): TrustMark[] =>
  Array.from({ length: count }, (_, at) => ({ cause: 'anomaly', parts: 1, atMs: nowMs - at, traceId: '' }));
/** Bursts begin with the fiftieth call within ten minutes. */
const lately = (count: number) => ({ ...noHabits, windows: 200, windowCalls: 2_000, lately: count });

const cases: readonly {
  name: string;
  decision?: Decision;
  reasonCodes?: readonly string[];
  call?: CallParts;
  /** Causes and what they take, in ten-thousandths. */
  want: readonly (readonly [cause: string, parts: number])[];
}[] = [
  { name: 'a call that is let out', want: [] },
  { name: 'one that is sanitized', decision: 'SANITIZE', want: [] },
  { name: 'one that is held', decision: 'REQUIRE_APPROVAL', want: [] },
  { name: 'one that is denied', decision: 'DENY', want: [['denial', 500]] },
  { name: 'one of a stranger that is denied', decision: 'DENY', call: { isAnonymous: true }, want: [] },
  {
    name: 'a hit in a feed',
    decision: 'DENY',
    call: { threats: [threat('target')] },
    want: [['threat', 2_000]],
  },
  { name: 'a hit that was let out', call: { threats: [threat('target')] }, want: [['threat', 2_000]] },
  { name: 'a URL in the body that a feed lists', call: { threats: [threat('body')] }, want: [] },
  {
    name: 'an anomaly that carries a secret',
    call: { signals: [anomaly(0.6), secret] },
    want: [['anomaly', 200]],
  },
  { name: 'an anomaly that carries nothing', call: { signals: [anomaly(1)] }, want: [] },
  {
    name: 'an anomaly that carries an address',
    call: { signals: [anomaly(1), { ...secret, score: 0.6 }] },
    want: [],
  },
  { name: 'a secret where the agent has always been', call: { signals: [secret] }, want: [] },
  { name: 'what is a little odd', call: { signals: [anomaly(0.59), secret] }, want: [] },
  {
    name: 'an anomaly when the day has seen five',
    call: { signals: [anomaly(0.9), secret], trustMarks: anomalies(5) },
    want: [],
  },
  {
    name: 'an anomaly when the day has seen four',
    call: { signals: [anomaly(0.9), secret], trustMarks: anomalies(4) },
    want: [['anomaly', 200]],
  },
  {
    name: 'a call that the gateway had no time to read',
    decision: 'DENY',
    reasonCodes: ['UNREADABLE', 'BASELINE_ANOMALY'],
    call: { isOutOfTime: true, signals: [anomaly(1), secret] },
    want: [],
  },
  {
    name: 'a call that the gateway had no time to cut',
    decision: 'DENY',
    reasonCodes: ['UNSANITIZABLE', 'SECRETS'],
    call: { isOutOfTime: true },
    want: [],
  },
  {
    name: 'a call that nobody can read',
    decision: 'DENY',
    reasonCodes: ['UNREADABLE'],
    want: [['denial', 500]],
  },
  {
    name: 'a call that a rule denies, whether or not there was time',
    decision: 'DENY',
    reasonCodes: ['POLICY_DENY'],
    call: { isOutOfTime: true },
    want: [['denial', 500]],
  },
  { name: 'a denial without the state', decision: 'DENY', call: { isDegraded: true }, want: [] },
  {
    name: 'a hit in a feed without the state',
    decision: 'DENY',
    call: { isDegraded: true, threats: [threat('target')] },
    want: [['threat', 2_000]],
  },
  { name: 'a new destination', call: { signals: [anomaly(1, 'NEW_DESTINATION')] }, want: [] },
  { name: 'a call before a burst', call: { habits: lately(49) }, want: [] },
  { name: 'the call with which a burst begins', call: { habits: lately(50) }, want: [['anomaly', 200]] },
  {
    name: 'the next one of it',
    call: { habits: lately(51), signals: [anomaly(0.8, 'VOLUME_BURST')] },
    want: [],
  },
  { name: 'a third call of a new agent', call: { habits: { ...noHabits, lately: 3 } }, want: [] },
  {
    name: 'an anomaly with which a burst begins',
    call: { habits: lately(50), signals: [anomaly(0.9), secret] },
    want: [['anomaly', 200]],
  },
  {
    name: 'an anomaly that is denied',
    decision: 'DENY',
    call: { signals: [anomaly(0.9), secret] },
    want: [
      ['denial', 500],
      ['anomaly', 200],
    ],
  },
  {
    name: 'whatever an agent does in monitor mode',
    call: { isMonitored: true, threats: [threat('target')], signals: [anomaly(1), secret] },
    want: [],
  },
  {
    name: 'a denial of an agent that is suspended',
    decision: 'DENY',
    call: { agentStatus: 'suspended' },
    want: [],
  },
  {
    name: 'a denial of an agent whose tenant is suspended',
    decision: 'DENY',
    call: { agentStatus: 'tenant-suspended' },
    want: [],
  },
];

for (const { name, decision = 'ALLOW', reasonCodes = [], call: fields = {}, want } of cases) {
  t.test(`what is held against an agent: ${name}`, async (t) => {
    const call = callOf({ receivedAtMs: nowMs, verdict: verdictOf(decision, reasonCodes), ...fields });
    const expected = want.map(([cause, parts]) => ({ cause, parts, atMs: nowMs, traceId: call.traceId }));
    t.same(trustLossOf(call, trustLosses), expected);
    t.same(
      trustLossOf(call, { denial: 0, analystDenial: 0, threatHit: 0, anomaly: 0 }),
      [],
      'unless that is nothing',
    );
  });
}

t.test('trust is counted in ten-thousandths', async (t) => {
  t.same([0, 0.02, 0.29, 0.57, 1].map(toParts), [0, 200, 2_900, 5_700, 10_000]);
  t.same(trustTermsOf({ recovery: 0.01, recoveryCalls: 50 }), { parts: 100, calls: 50 });
});
