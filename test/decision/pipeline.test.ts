import t from 'tap';
import type { CallSoFar, DecidedCall, Decision, UnadmittedCall } from '../../src/core/call.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { createPipeline, RefusedCall, type Stage, Stages } from '../../src/decision/pipeline.ts';
import { callOf } from '../support/call.ts';
import { verdictOf } from './verdict.ts';

type Outcome = object | Promise<object>;
/** A stage that answers the call as it came, unless it is told something else. */
type Step = readonly [name: string, run?: (call: never) => Outcome];

const decided = (decision: Decision): DecidedCall => callOf({ verdict: verdictOf(decision) });
const decides = (decision: Decision) => () => decided(decision);
const fails = (error: unknown) => () => {
  throw error;
};

/** Runs the stages and tells what happened, in order. */
async function runStages([first, ...others]: readonly [Step, ...Step[]], isRecorded = true) {
  const happened: string[] = [];
  const records: CallSoFar[] = [];
  const noted = ([name, run = (call: object) => call]: Step): Stage<never, object> => ({
    name,
    run(call) {
      happened.push(name);
      return run(call);
    },
  });
  let stages = Stages.first(noted(first));
  for (const step of others) stages = stages.andThen(noted(step) as Stage<object, object>);
  // The compiler checks what stages hand each other; here they hand each other what a case says.
  const way = stages as unknown as Stages<UnadmittedCall, DecidedCall>;
  const inspect = createPipeline(way, async (call, refusal) => {
    records.push(call);
    happened.push(`record ${refusal?.code ?? call.verdict?.decision}`);
    if (!isRecorded) throw new GatewayError('STATE_UNAVAILABLE', 'disk full');
  });
  const outcome = await inspect(callOf().received).then(
    (it) => it.verdict.decision,
    (error: GatewayError) => error.code,
  );
  return { outcome, happened, records };
}

const limited = new GatewayError('RATE_LIMITED', 'slower');
const cases: readonly {
  readonly name: string;
  readonly steps: readonly [Step, ...Step[]];
  readonly want: { readonly outcome: string; readonly happened: readonly string[] };
}[] = [
  {
    name: 'each stage is given what the one before it answered',
    steps: [['a', decides('DENY')], ['b'], ['c']],
    want: { outcome: 'DENY', happened: ['a', 'b', 'c', 'record DENY'] },
  },
  {
    name: 'a stage that waits is waited for',
    steps: [['a', async () => decided('ALLOW')], ['b']],
    want: { outcome: 'ALLOW', happened: ['a', 'b', 'record ALLOW'] },
  },
  {
    name: 'a failure is recorded and thrown',
    steps: [
      ['a', fails(limited)],
      ['b', decides('ALLOW')],
    ],
    want: { outcome: 'RATE_LIMITED', happened: ['a', 'record RATE_LIMITED'] },
  },
  {
    name: 'a bug refuses the call and says nothing of its insides',
    steps: [
      ['a', fails(new TypeError('secret detail'))],
      ['b', decides('ALLOW')],
    ],
    want: { outcome: 'INTERNAL', happened: ['a', 'record INTERNAL'] },
  },
  {
    name: 'a failure behind a stage that waits refuses the call, too',
    steps: [
      ['a', async () => decided('ALLOW')],
      ['b', async () => fails(limited)()],
    ],
    want: { outcome: 'RATE_LIMITED', happened: ['a', 'b', 'record RATE_LIMITED'] },
  },
];

for (const { name, steps, want } of cases) {
  t.test(name, async (t) => {
    const { outcome, happened } = await runStages(steps);
    t.same({ outcome, happened }, want);
  });
}

t.test('a stage that refuses a call ends its way, and says what is known of it', async (t) => {
  const reached = { received: callOf().received, outcome: 'limited' } as const;
  const { outcome, happened, records } = await runStages([
    ['a', () => new RefusedCall(reached, limited)],
    ['b', decides('ALLOW')],
  ]);
  t.same({ outcome, happened }, { outcome: 'RATE_LIMITED', happened: ['a', 'record RATE_LIMITED'] });
  t.equal(records[0], reached);
});

t.test('what was decided before a failure does not stand, and what was found out does', async (t) => {
  const { outcome, records } = await runStages([
    ['a', decides('ALLOW')],
    ['b', fails(new Error('late'))],
  ]);
  t.equal(outcome, 'INTERNAL');
  t.equal(records[0]?.verdict, undefined);
  t.equal(records[0]?.admission?.identity.tenantId, 'acme');
});

t.test('a call that cannot be recorded is not let out', async (t) => {
  const { outcome, happened } = await runStages([['a', decides('ALLOW')]], false);
  t.same({ outcome, happened }, { outcome: 'STATE_UNAVAILABLE', happened: ['a', 'record ALLOW'] });
});

t.test('a way that leaves a stage out does not compile', async (t) => {
  type Of<In, Out> = Stage<In, Out>;
  const way = (a: Of<1, { a: 1 }>, b: Of<{ a: 1 }, { b: 1 }>, c: Of<{ b: 1 }, { c: 1 }>) => {
    Stages.first(a).andThen(b).andThen(c);
    // @ts-expect-error the stage between them is missing
    Stages.first(a).andThen(c);
  };
  t.type(way, 'function');
});
