import t from 'tap';
import type { Call, Decision } from '../../src/core/call.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { createPipeline, type Stage } from '../../src/decision/pipeline.ts';
import { callOf } from '../support/call.ts';
import { verdictOf } from './verdict.ts';

const stage = (name: string, run: (call: Call) => void | Promise<void> = () => undefined): Stage => ({
  name,
  run,
});
const decides = (decision: Decision) => (call: Call) => {
  call.verdict = verdictOf(decision);
};

/** Runs the stages and tells what happened, in order. */
async function runStages(stages: readonly Stage[], isRecorded = true) {
  const happened: string[] = [];
  const noted = stages.map((it) => ({
    name: it.name,
    run(call: Call) {
      happened.push(it.name);
      return it.run(call);
    },
  }));
  const inspect = createPipeline(noted, async (call, refusal) => {
    happened.push(`record ${refusal?.code ?? call.verdict?.decision}`);
    if (!isRecorded) throw new GatewayError('STATE_UNAVAILABLE', 'disk full');
  });
  const outcome = await inspect(callOf()).then(
    (it) => it.decision,
    (error: GatewayError) => error.code,
  );
  return { outcome, happened };
}

const fails = (error: unknown) => () => {
  throw error;
};

const cases = [
  {
    name: 'the first verdict ends the run',
    stages: [stage('a'), stage('b', decides('DENY')), stage('c', decides('ALLOW'))],
    want: { outcome: 'DENY', happened: ['a', 'b', 'record DENY'] },
  },
  {
    name: 'no verdict is a denial',
    stages: [stage('a')],
    want: { outcome: 'DENY', happened: ['a', 'record DENY'] },
  },
  {
    name: 'a stage that waits is waited for',
    stages: [stage('a', async (call) => decides('ALLOW')(call)), stage('b', decides('DENY'))],
    want: { outcome: 'ALLOW', happened: ['a', 'record ALLOW'] },
  },
  {
    name: 'a refusal is recorded and thrown',
    stages: [stage('a', fails(new GatewayError('RATE_LIMITED', 'slower'))), stage('b', decides('ALLOW'))],
    want: { outcome: 'RATE_LIMITED', happened: ['a', 'record RATE_LIMITED'] },
  },
  {
    name: 'a bug refuses the call and says nothing of its insides',
    stages: [stage('a', fails(new TypeError('secret detail'))), stage('b', decides('ALLOW'))],
    want: { outcome: 'INTERNAL', happened: ['a', 'record INTERNAL'] },
  },
  {
    name: 'a verdict set before a failure does not stand',
    stages: [
      stage('a', (call) => {
        decides('ALLOW')(call);
        throw new Error('late');
      }),
    ],
    want: { outcome: 'INTERNAL', happened: ['a', 'record INTERNAL'] },
  },
];

for (const { name, stages, want } of cases) {
  t.test(name, async (t) => {
    t.same(await runStages(stages), want);
  });
}

t.test('a call that cannot be recorded is not let out', async (t) => {
  t.same(await runStages([stage('a', decides('ALLOW'))], false), {
    outcome: 'STATE_UNAVAILABLE',
    happened: ['a', 'record ALLOW'],
  });
});
