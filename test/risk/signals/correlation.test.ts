import t from 'tap';
import type { CarriedRead, Operation, RiskEvidence } from '../../../src/core/call.ts';
import type { CreatedPrincipal, SeenSecrets, SensitiveRead, Sighting } from '../../../src/core/history.ts';
import { noHabits } from '../../../src/core/history.ts';
import type { SignalEngine } from '../../../src/risk/signals/engine.ts';
import { massAction, mutationsEnough } from '../../../src/risk/signals/mass-action.ts';
import { escalationMs, privilegeEscalation } from '../../../src/risk/signals/privilege-escalation.ts';
import { crossAgent, readThenWrite } from '../../../src/risk/signals/read-then-write.ts';
import { credentialsEnough, tokenHarvesting } from '../../../src/risk/signals/token-harvesting.ts';
import { createSightingLog } from '../../../src/state/rules/sightings.ts';
import { type CallParts, callOf, identityOf } from '../../support/call.ts';

const nowMs = Date.UTC(2026, 2, 4);
const own = identityOf().agentId;
const another = '5b0c7f0e-7a54-4b0e-9a55-0a2f6f0f7c99';

const operationOf = (fields: Partial<Operation> = {}): Operation => ({
  ...{ toolName: 'aws', name: 'attach_user_policy', category: 'iam', verb: 'ADMIN' },
  ...{ resource: {}, principals: [] },
  ...fields,
});

/** A call of an agent of a tenant in which this was seen. */
function callAfter(seen: readonly Sighting[], fields: CallParts = {}) {
  const log = createSightingLog();
  for (const it of seen) log.add(it);
  return callOf({ receivedAtMs: nowMs, operation: operationOf(), sightings: log, ...fields });
}

/** The signal that an engine raises for such a call. */
const assess = (engine: SignalEngine, ...of: Parameters<typeof callAfter>) => {
  const call = callAfter(...of);
  return engine.assess(call, call.evidence);
};

const of = { atMs: nowMs - 1_000, agentId: own, traceId: 'trace-1' };

const read = (fields: Partial<SensitiveRead> = {}): SensitiveRead => ({
  kind: 'read',
  ...of,
  host: 'docs.example.com',
  classes: ['PII'],
  shingles: new Float64Array(0),
  ...fields,
});
const carried = (by: CarriedRead['by'], fields: Partial<SensitiveRead> = {}): CarriedRead => ({
  by,
  read: read(fields),
});

const carries: readonly {
  name: string;
  reads: readonly CarriedRead[];
  /** Scores of READ_THEN_WRITE and of CROSS_AGENT_EXFIL. */
  scores: readonly [own: number | undefined, others: number | undefined];
}[] = [
  { name: 'nothing', reads: [], scores: [undefined, undefined] },
  { name: 'its content', reads: [carried('content')], scores: [1, undefined] },
  { name: 'data of its class', reads: [carried('class')], scores: [0.5, undefined] },
  { name: 'both', reads: [carried('class'), carried('content')], scores: [1, undefined] },
  {
    name: 'the content of others',
    reads: [carried('content', { agentId: another })],
    scores: [undefined, 1],
  },
  {
    name: 'a text that anybody may have',
    reads: [carried('content', { isSlight: true })],
    scores: [0.5, undefined],
  },
  {
    name: 'the same of others',
    reads: [carried('content', { agentId: another, isSlight: true })],
    scores: [undefined, 0.5],
  },
  {
    name: 'its content, and a text that anybody may have',
    reads: [carried('content'), carried('content', { isSlight: true })],
    scores: [1, undefined],
  },
  {
    name: 'its class and the content of others',
    reads: [carried('class'), carried('content', { agentId: another })],
    scores: [0.5, 1],
  },
];

for (const { name, reads, scores } of carries) {
  t.test(`what was read before goes out: ${name}`, async (t) => {
    const scoreOf = (engine: SignalEngine) => assess(engine, [], { carriedReads: reads })?.score;
    t.same([scoreOf(readThenWrite), scoreOf(crossAgent)], scores);
  });
}

t.test('a read that goes out is told with its traces, of which not too many', async (t) => {
  const reads = Array.from({ length: 16 }, (_, at) => carried('content', { traceId: `trace-${at}` }));
  const call = callAfter([], { carriedReads: [...reads, carried('class', { traceId: 'other' })] });
  t.equal(
    readThenWrite.assess(call, call.evidence)?.details,
    'it carries the content of an answer to this agent outside the organisation: ' +
      `trace trace-12 (PII), trace-13 (PII), trace-14 (PII), trace-15 (PII); written by trace ${call.traceId}`,
  );
  const foreign = [carried('content', { agentId: another, classes: [] })];
  t.match(assess(crossAgent, [], { carriedReads: foreign }), {
    engine: 'correlation',
    name: 'CROSS_AGENT_EXFIL',
    details: `to agent ${another} outside the organisation: trace trace-1 (a sensitive tool)`,
    shown: `it carries the content of an answer to another agent outside the organisation: written by trace ${call.traceId}`,
  });
});

const created = (fields: Partial<CreatedPrincipal> = {}): CreatedPrincipal => ({
  kind: 'principal-created',
  ...of,
  toolName: 'aws',
  operation: 'create_user',
  ...fields,
});

const attaching = { toolName: 'aws', name: 'attach_user_policy' };

t.test('rights are given to somebody who was made with the same call: a signal', async (t) => {
  const creates = { toolName: 'aws', name: 'create_user' };
  const signalOf = (privileges: RiskEvidence['privileges']) =>
    assess(privilegeEscalation, [], { privileges });
  t.match(signalOf({ creates, grants: attaching }), { details: /after create_user \(the same call\)$/ });
  t.equal(signalOf({ creates: { ...creates, toolName: 'okta' }, grants: attaching }), undefined);
});

const escalations: readonly {
  name: string;
  seen: readonly Sighting[];
  privileges?: RiskEvidence['privileges'];
  is: boolean;
}[] = [
  { name: 'a moment after somebody was made', seen: [created()], is: true },
  { name: 'by another agent of the tenant', seen: [created({ agentId: another })], is: true },
  { name: 'with other sightings between', seen: [read(), created(), read()], is: true },
  { name: 'where nobody was made', seen: [read()], is: false },
  { name: 'with another tool', seen: [created({ toolName: 'okta' })], is: false },
  { name: 'just in time', seen: [created({ atMs: nowMs - escalationMs + 1 })], is: true },
  { name: 'too late', seen: [created({ atMs: nowMs - escalationMs })], is: false },
  {
    name: 'late for one, and in time for the other',
    seen: [created({ atMs: nowMs - 200_000 }), created()],
    is: true,
  },
  {
    name: 'by a call that makes somebody',
    seen: [created()],
    privileges: { creates: { toolName: 'aws', name: 'create_user' } },
    is: false,
  },
  { name: 'by a call that does neither', seen: [created()], privileges: {}, is: false },
];

for (const { name, seen, is, ...given } of escalations) {
  t.test(`rights are given ${name}: ${is ? 'a signal' : 'none'}`, async (t) => {
    const signal = assess(privilegeEscalation, seen, { privileges: { grants: attaching }, ...given });
    t.equal(signal !== undefined, is);
    if (signal)
      t.match(signal, {
        ...{ engine: 'correlation', name: 'PRIVILEGE_ESCALATION', score: 0.8 },
        details:
          'rights are given with attach_user_policy, less than two minutes after create_user (trace trace-1)',
        shown: seen.some((it) => it.agentId === another)
          ? 'rights are given with attach_user_policy, less than two minutes after create_user (another agent)'
          : undefined,
      });
  });
}

t.test('ten writes with a tool within a minute are a mass action', async (t) => {
  const weighed = (mutations: number) => assess(massAction, [], { habits: { ...noHabits, mutations } });
  t.same([0, 1, mutationsEnough - 1].map(weighed), [undefined, undefined, undefined]);
  t.match(weighed(mutationsEnough), {
    engine: 'correlation',
    name: 'MASS_ACTION',
    score: 0.6,
    details: /with aws/,
  });
});

const secrets = (hashes: readonly string[], fields: Partial<SeenSecrets> = {}): SeenSecrets => ({
  kind: 'secrets',
  ...of,
  hashes,
  ...fields,
});

const harvests: readonly {
  name: string;
  now: readonly string[];
  seen?: readonly Sighting[];
  /** How many credentials the signal tells of; undefined where there is none. */
  count?: number;
}[] = [
  { name: 'none', now: [] },
  {
    name: 'those of answers alone',
    now: [],
    seen: [secrets(['1']), secrets(['2', '3'])],
    count: 3,
  },
  { name: 'two in a call', now: ['1', '2'] },
  { name: 'three in a call', now: ['1', '2', '3'], count: credentialsEnough },
  { name: 'one again and again', now: ['1'], seen: [secrets(['1']), secrets(['1'])] },
  { name: 'one more each time', now: ['3'], seen: [secrets(['1']), secrets(['2'])], count: 3 },
  {
    name: 'those of another agent',
    now: ['3'],
    seen: [secrets(['1', '2'], { agentId: another })],
  },
  {
    name: 'other sightings between',
    now: ['1'],
    seen: [read(), secrets(['2', '3']), created()],
    count: 3,
  },
];

for (const { name, now, seen = [], count } of harvests) {
  t.test(`credentials in the hands of an agent: ${name}`, async (t) => {
    const signal = assess(tokenHarvesting, seen, { secretHashes: now });
    if (count === undefined) t.equal(signal, undefined);
    else
      t.match(signal, {
        ...{ engine: 'correlation', name: 'TOKEN_HARVESTING', score: 0.8 },
        details: `${count} distinct credentials`,
      });
  });
}
