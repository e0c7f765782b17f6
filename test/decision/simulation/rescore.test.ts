import t from 'tap';
import { validateConfig } from '../../../src/config/load.ts';
import { DecidedCall } from '../../../src/core/call.ts';
import { noHabits } from '../../../src/core/history.ts';
import { ownName } from '../../../src/core/safe-name.ts';
import type { Trace } from '../../../src/decision/simulation/call-of-trace.ts';
import { recordedRisk, rescore } from '../../../src/decision/simulation/rescore.ts';
import { assessRiskStage } from '../../../src/decision/stages/assess-risk.ts';
import { traceLine } from '../../../src/decision/trace/trace-line.ts';
import { signalEngines } from '../../../src/risk/signals/index.ts';
import { defaultWeights } from '../../../src/risk/signals/score.ts';
import { type CallParts, callOf, findingOf, threatOf } from '../../support/call.ts';
import { noticing } from '../../support/noticing.ts';
import { verdictOf } from '../verdict.ts';

const config = validateConfig({ tenants: [{ id: 'acme' }] }, { file: undefined, env: {} });
const { bands: bounds } = config.risk;
const tenant = config.tenants.get('acme') ?? config.defaultTenant('acme');
const concern = { tool: ownName('x'), kinds: ['changed'], sinceMs: 0, untilMs: 1 } as const;

const calls: readonly { readonly name: string; readonly fields: CallParts }[] = [
  { name: 'a clean call', fields: {} },
  { name: 'a clean call of an agent without trust', fields: { trustScore: 0 } },
  { name: 'a new destination', fields: { isNewDestination: true } },
  { name: 'personal data', fields: { findings: [findingOf({ class: 'PII', confidence: 'medium' })] } },
  { name: 'a secret away from home', fields: { findings: [findingOf({ confidence: 'high' })] } },
  { name: 'orders to the agent', fields: { injection: 0.7, isNewDestination: true } },
  { name: 'a listed URL', fields: { threats: [threatOf()] } },
  { name: 'a tool that has changed', fields: { toolConcerns: [concern] } },
  {
    name: 'all of it, of an agent with little trust',
    fields: {
      findings: [findingOf({ confidence: 'high' }), findingOf({ class: 'PHI' })],
      injection: 1 / 3,
      isNewDestination: true,
      toolConcerns: [concern],
      trustScore: 0.37,
    },
  },
];

/** The trace of a call that was weighed, as the state keeps it. */
async function recorded(fields: CallParts): Promise<Trace> {
  const findThreats = () => fields.threats ?? [];
  const options = { engines: signalEngines, weights: defaultWeights, bounds, findThreats };
  const call = assessRiskStage({ ...options, ...noticing }).run(callOf({ tenant, ...fields }));
  const verdict = { ...verdictOf('ALLOW'), explanation: [ownName('it may')] };
  return JSON.parse(
    traceLine(new DecidedCall(call, { verdict, isMonitored: false, incidents: [] }), undefined),
  );
}

for (const { name, fields } of calls) {
  t.test(`${name} has the recorded risk by the weights that it was weighed with`, async (t) => {
    const trace = await recorded(fields);
    t.same(rescore(trace, defaultWeights, bounds), recordedRisk(trace));
  });
}

t.test('other weights and bands give another risk, but none below a floor', async (t) => {
  const orders = await recorded({ injection: 1, habits: { ...noHabits, calls: 500 } });
  t.same(recordedRisk(orders), { score: 0.011, band: 'LOW' });
  const onlySemantic = Object.fromEntries(
    Object.keys(defaultWeights).map((it) => [it, it === 'semantic' ? 1 : 0]),
  );
  t.same(rescore(orders, onlySemantic, bounds), { score: 0.9, band: 'CRITICAL' }, 'and trust still counts');
  t.same(rescore(orders, defaultWeights, { ...bounds, MEDIUM: 0.01 }), { score: 0.011, band: 'MEDIUM' });
  const withoutClassifier = { ...defaultWeights, classifier: 0 };
  const secret = await recorded({ findings: [findingOf({ confidence: 'high' })] });
  t.equal(rescore(secret, withoutClassifier, bounds).score, 0.6);
  const listed = await recorded({ threats: [threatOf()] });
  t.equal(rescore(listed, { ...defaultWeights, threat_intel: 0 }, bounds).score, 0.75);
});

t.test('a call that was refused before it was weighed has no risk', async (t) => {
  const { explanation, ...refused } = await recorded({});
  t.equal(recordedRisk(refused), undefined);
});
