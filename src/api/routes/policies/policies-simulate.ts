import { z } from 'zod';
import type { TenantConfig } from '../../../config/schema.ts';
import type { Verdict } from '../../../core/call.ts';
import { GatewayError } from '../../../core/errors.ts';
import { withCandidates } from '../../../decision/candidates.ts';
import { givenFacts } from '../../../decision/facts/given-facts.ts';
import type { Trace } from '../../../decision/simulation/call-of-trace.ts';
import { createTraceJudge, type SimulatedOutcome } from '../../../decision/simulation/simulate-traces.ts';
import { type SimulatedCall, toSimulatedCall } from '../../../decision/simulation/simulated-call.ts';
import { jsonElementSpans, jsonValueSpan } from '../../../inspect/redact/locate.ts';
import { type CompiledInput, compilePolicies } from '../../../policy/index.ts';
import { policiesMax } from '../../../state/rules/policy-bounds.ts';
import {
  contentEncodingOf,
  contentTypeOf,
  describedBody,
  describedCall,
  flatHeaders,
} from '../../fields/described-call.ts';
import { decision, instant, ofTenant } from '../../fields/fields.ts';
import { invalid } from '../../fields/invalid.ts';
import { demand } from '../../fields/permissions.ts';
import { type CheckedPolicy, checkPolicy } from '../../fields/policy-fields.ts';
import { toFilter, traceFilter } from '../../fields/trace-query.ts';
import { createPause } from '../../pause.ts';
import { type ApiRequest, routesOf } from '../../route.ts';
import { type SimulatedAgent, SimulatedAgents } from '../../simulated-agents.ts';
import { standingIn } from '../../standing-in.ts';

const route = routesOf('policies');

const callsMax = 1000;
const tracesMax = 10_000;
const tracesAtOnce = 200;
/** Changed calls that the answer describes by agent, method and URL. */
const shownMax = 200;
/** Simulations that one key may run at once. */
const simulationsMax = 1;

const simulateRequest = z.strictObject({
  ...ofTenant,
  policies: z.array(z.unknown()).min(1).max(policiesMax).describe('As apply takes them'),
  only: z
    .boolean()
    .default(false)
    .describe('true: judged by these policies alone; false: they take the place of those they would replace'),
  calls: z
    .array(describedCall.extend({ facts: givenFacts.default({}) }))
    .min(1)
    .max(callsMax)
    .optional(),
  traces: z
    .strictObject({
      ...traceFilter,
      since: instant.optional().describe('Inclusive'),
      until: instant.optional().describe('Exclusive'),
      limit: z.int().min(1).max(tracesMax).default(1000).describe('The newest so many'),
    })
    .optional()
    .describe('Recorded calls, for which a key also needs `activity:read`'),
});

type SimulateRequest = z.output<typeof simulateRequest>;
type Request = ApiRequest<SimulateRequest, unknown>;

const publicOutcome = z.object({
  decision,
  reason_codes: z.array(z.string()),
  policy_name: z.string().nullable(),
  rule_id: z.string().nullable(),
});

const simulateAnswer = z
  .object({
    evaluated: z.int(),
    unchanged: z.int(),
    changed: z.array(
      z.object({
        index: z.int().optional().describe('Of the call in the request'),
        trace_id: z.uuid().optional(),
        call: z
          .object({ agent_name: z.string().nullable(), method: z.string(), url: z.string() })
          .optional()
          .describe(`Of a recorded call, for the first ${shownMax}`),
        before: publicOutcome,
        after: publicOutcome,
      }),
    ),
    undetermined: z
      .array(z.object({ trace_id: z.uuid(), because: z.string() }))
      .describe('The decision depends on what traces do not hold'),
    warnings: z
      .array(z.string())
      .describe('What policies may not do as their author thinks: the name, then the warning'),
  })
  .meta({ id: 'Simulation' });

type Simulation = Omit<z.infer<typeof simulateAnswer>, 'warnings'>;

/** The inputs of the simulation. */
interface Setting {
  readonly tenant: TenantConfig;
  /** The policies as they would be in force. */
  readonly changed: readonly CompiledInput[];
  readonly agents: SimulatedAgents;
  /** Lets others have their turn. Rejects with GATEWAY_BUSY where the simulation takes too long. */
  readonly pause: () => Promise<void>;
}

/** `POST /v1/policies/simulate` judges given or recorded calls by given rules. It has no effect. */
export const simulatePolicies = route('POST /v1/policies/simulate', {
  summary: 'Try policies on given or recorded calls',
  access: ['policies:read', 'policies:write'],
  body: simulateRequest,
  perKeyMax: simulationsMax,
  answer: simulateAnswer,
  async handle(request) {
    const { gate, caller, body } = request;
    const tenantId = request.tenantId();
    const tenant = gate.tenants.find(tenantId);
    if (!tenant) throw new GatewayError('NOT_FOUND', 'There is no such tenant.');
    if ((body.calls === undefined) === (body.traces === undefined))
      throw invalid([{ path: 'calls', message: 'give either calls or traces' }]);
    // The answer tells which recorded calls the rules hold for, so whoever asks must be allowed to see those.
    if (body.traces && caller.kind === 'key') demand(caller.key, ['activity:read']);
    const checked = body.policies.map((it, index) => checkPolicy(gate, tenantId, it, `policies[${index}]`));
    const candidates = checked.map((it) => it.policy);
    const active = await gate.policies.inputsOf(tenantId);
    const setting: Setting = {
      tenant,
      changed: withCandidates(active, candidates, body.only),
      agents: new SimulatedAgents(gate, tenantId, caller),
      pause: createPause(request.signal()),
    };
    const outcome = await (body.traces
      ? overTraces(request, body.traces, setting)
      : overCalls(request, setting));
    return { ...outcome, warnings: checked.flatMap(warningsOf) };
  },
});

const warningsOf = ({ policy, warnings }: CheckedPolicy): string[] =>
  warnings.map((it) => `${policy.name}: ${it}`);

async function overCalls(request: Request, { tenant, changed, agents, pause }: Setting): Promise<Simulation> {
  const { gate, caller, body, raw, nowMs } = request;
  const page = await gate.policies.rulesFor(tenant.id);
  const sets = [page.rules, compilePolicies(changed)];
  const standingOf = standingIn(gate);
  const written = elementsOf(raw, 'calls');
  const simulation = emptySimulation();
  for (const [index, described] of (body.calls ?? []).entries()) {
    const env = described.env ?? undefined;
    if (env !== undefined && !tenant.environments.includes(env))
      throw invalid([{ path: `calls[${index}].env`, message: 'is not an environment of the tenant' }]);
    const { facts: given } = described;
    const named = given.agent_id ?? described.agent_id ?? undefined;
    if (caller.kind === 'key' && named !== undefined && named !== caller.identity.agentId)
      // The outcome tells of the agent's former destinations, which are in its traces.
      demand(caller.key, ['activity:read']);
    const agent = await agents.of(named, env);
    const call = toCall(described, written[index] ?? raw, agent, nowMs);
    const decided = await gate.simulator.run(call, { tenant, page, given, standingOf }, sets);
    const [before, after] = decided.map(({ verdict }) => outcomeOf(verdict));
    if (!before || !after) throw new Error('two sets of rules give two verdicts');
    note(simulation, { index }, before, after);
    await pause();
  }
  return simulation;
}

/** Makes the simulated call of a description. `written` is the description's text in the request. */
function toCall(
  described: NonNullable<SimulateRequest['calls']>[number],
  written: Buffer,
  { identity, status }: SimulatedAgent,
  nowMs: number,
): SimulatedCall {
  const content = describedBody(described.body, written, 'body', described.body_encoding);
  const headers = flatHeaders(described.headers);
  const from = {
    method: described.method,
    url: described.url,
    headers,
    body: content.bytes,
    contentType: contentTypeOf(content, headers),
    contentEncoding: contentEncodingOf(content, headers),
    agentName: described.agent_name ?? undefined,
    runtimeType: described.runtime_type ?? undefined,
    identity,
    agentStatus: status,
  };
  return toSimulatedCall(from, described.facts, nowMs);
}

async function overTraces(
  { gate }: Request,
  { since, until, limit, ...filter }: NonNullable<SimulateRequest['traces']>,
  { tenant, changed, agents, pause }: Setting,
): Promise<Simulation> {
  const judge = createTraceJudge(gate.simulator, tenant, changed);
  const wanted = toFilter({ ...filter, from: since, to: until });
  const simulation = emptySimulation();
  let cursor: string | undefined;
  do {
    const rest = Math.min(limit - simulation.evaluated, tracesAtOnce);
    const page = await gate.store.listTraces(tenant.id, wanted, { limit: rest, cursor });
    for (const line of page.items) {
      const trace = JSON.parse(line) as Trace;
      const { trace_id, agent_id } = trace;
      const own =
        (await agents.ownerOf(trace.key_id)) ?? (await agents.of(agent_id, undefined)).identity.ownAgent;
      const outcome = judge(trace, own);
      if (outcome.kind === 'judged') {
        const isShown = simulation.changed.length < shownMax;
        const which = { trace_id, ...(isShown ? { call: callOf(trace) } : {}) };
        note(simulation, which, outcome.before, outcome.after);
      } else {
        simulation.evaluated += 1;
        simulation.undetermined.push({ trace_id, because: outcome.because });
      }
      await pause();
    }
    cursor = page.nextCursor ?? undefined;
    // A page may be empty and still have a next one.
    await pause();
  } while (cursor !== undefined && simulation.evaluated < limit);
  return simulation;
}

const callOf = ({ agent_name, method, url }: Trace) => ({ agent_name: agent_name ?? null, method, url });

const emptySimulation = (): Simulation => ({ evaluated: 0, unchanged: 0, changed: [], undetermined: [] });

function note(
  simulation: Simulation,
  which: Pick<Simulation['changed'][number], 'index' | 'trace_id' | 'call'>,
  was: SimulatedOutcome,
  becomes: SimulatedOutcome,
): void {
  simulation.evaluated += 1;
  const [before, after] = [show(was), show(becomes)];
  if (JSON.stringify(before) === JSON.stringify(after)) simulation.unchanged += 1;
  else simulation.changed.push({ ...which, before, after });
}

const show = ({
  decision,
  reasonCodes,
  policyName,
  ruleId,
}: SimulatedOutcome): z.infer<typeof publicOutcome> => ({
  decision,
  reason_codes: [...reasonCodes],
  policy_name: policyName ?? null,
  rule_id: ruleId ?? null,
});

const outcomeOf = ({ decision, reasonCodes, decidedBy }: Verdict): SimulatedOutcome => ({
  decision,
  reasonCodes,
  policyName: decidedBy?.policyName,
  ruleId: decidedBy?.ruleId,
});

/** Returns the elements of a list as written, since a number may exceed what JavaScript can hold. */
function elementsOf(raw: Buffer, field: string): Buffer[] {
  const span = jsonValueSpan(raw, field);
  if (!span) return [];
  const list = raw.subarray(span.start, span.end);
  return jsonElementSpans(list).map(({ start, end }) => list.subarray(start, end));
}
