import { dump } from 'js-yaml';
import { z } from 'zod';
import { withCandidates } from '../../../decision/candidates.ts';
import type { Trace } from '../../../decision/simulation/call-of-trace.ts';
import {
  type EditablePolicy,
  exceptionId,
  exceptionRule,
  exceptionsName,
  matchOf,
  whyNoRule,
  withException,
} from '../../../decision/simulation/exception.ts';
import { createTraceJudge, type TraceOutcome } from '../../../decision/simulation/simulate-traces.ts';
import { type PolicyDocument, parseStoredRules } from '../../../policy/index.ts';
import { idOf, missing, toIso } from '../../fields/fields.ts';
import { demand } from '../../fields/permissions.ts';
import { checkPolicy } from '../../fields/policy-fields.ts';
import { type ApiRequest, routesOf } from '../../route.ts';
import { SimulatedAgents } from '../../simulated-agents.ts';

const route = routesOf('policies');

/** Policies that may be changed for one call. Each of them may hold the call back by a rule of its own. */
const changesMax = 20;
const dayMs = 86_400_000;
const tracesTried = 10_000;

const publicChange = z.object({
  name: z.string(),
  env_names: z.array(z.string()).nullable().describe('null: all environments'),
  source: z.enum(['api', 'file']).describe('file: written in a policy file, which the API cannot change'),
  version: z.int().nullable().describe('null: there is no such policy yet'),
  before_rule: z
    .string()
    .nullable()
    .describe('The rule that held the call back, before which the new one stands'),
  rule: z.unknown(),
  yaml: z.string().describe('The new rule, as a policy file has it'),
  diff: z.string(),
  policy: z.unknown().describe('The whole policy with the new rule, for POST /v1/policies/apply'),
});

const exceptionAnswer = z
  .object({
    trace_id: z.uuid(),
    because: z
      .string()
      .nullable()
      .describe('Why no rule lets the call through, and what does; null where one does'),
    summary: z.string().describe('What the rule lets through'),
    wider: z.array(z.string()).describe('What else it lets through, since the trace does not tell more'),
    changes: z.array(publicChange),
    outcome: z
      .object({ decision: z.string().nullable(), because: z.string().nullable() })
      .describe(
        'The decision on the recorded call with the changes; null, and why, where the trace does not tell',
      ),
    simulate: z
      .unknown()
      .describe('The body for POST /v1/policies/simulate: the changes over the last 24 hours'),
  })
  .meta({ id: 'Exception' });

type Answer = z.infer<typeof exceptionAnswer>;
type Request = ApiRequest<unknown, unknown>;

/** `GET /v1/traces/{trace_id}/exception` returns the smallest rules that let the call through. */
export const showException = route('GET /v1/traces/:trace_id/exception', {
  summary: 'Show the smallest rules that would let a recorded call through',
  access: 'policies:read',
  answer: exceptionAnswer,
  isListing: true,
  async handle(request): Promise<Answer> {
    const { gate, caller, params } = request;
    const line = await gate.store.traceById(request.tenantId(), idOf(params, 'trace_id', 'trace'));
    if (line === undefined) throw missing('trace');
    // The answer tells of the trace, so it is for those who may see traces.
    if (caller.kind === 'key') demand(caller.key, ['activity:read']);
    const trace = JSON.parse(line) as Trace;
    const found = matchOf(trace);
    const because = whyNoRule(trace) ?? (found ? undefined : 'The host of the call is not in its trace.');
    if (because !== undefined || !found) return withoutRule(trace, because ?? '');
    return search(request, trace, found);
  },
});

const withoutRule = (trace: Trace, because: string): Answer => ({
  trace_id: trace.trace_id,
  because,
  summary: '',
  wider: [],
  changes: [],
  outcome: { decision: trace.decision, because: null },
  simulate: null,
});

/** A policy that the search changes. `changed` is the same policy with the exception. */
interface Draft extends EditablePolicy {
  readonly changed: PolicyDocument;
  readonly beforeRule: string | undefined;
}

/** Adds an exception to each policy that holds the call back, one by one, until the call is let through. */
async function search(
  request: Request,
  trace: Trace,
  { match, wider }: NonNullable<ReturnType<typeof matchOf>>,
): Promise<Answer> {
  const policies = await editablePolicies(request, trace.env_name);
  const drafts: Draft[] = [];
  const judge = await createJudge(request, trace);
  const add = (name: string | undefined, ruleId: string | undefined): boolean => {
    const found = policies.find(
      ({ document: it }) => it.name === name && it.rules.some(({ rule_id }) => rule_id === ruleId),
    );
    const policy = found ?? exceptionsOf(policies);
    if (drafts.some(({ document }) => document === policy.document)) return false;
    const before = policy.document.rules.find(({ rule_id }) => found && rule_id === ruleId);
    const rule = exceptionRule(trace, match, before);
    const beforeRule = before?.rule_id;
    drafts.push({ ...policy, beforeRule, changed: withException(policy.document, rule, beforeRule) });
    return true;
  };
  let outcome = await judge([]);
  // A trace does not tell what depends on the body. So the rule that held the call back then is taken for the
  // one that does now.
  if (outcome.kind === 'undetermined') add(trace.policy_name, trace.rule_id);
  for (let count = 0; count < changesMax; count += 1) {
    outcome = await judge(drafts.map((it) => it.changed));
    if (outcome.kind === 'undetermined' || isThrough(outcome)) break;
    if (!add(outcome.after.policyName, outcome.after.ruleId)) break;
  }
  return toAnswer(request, { trace, drafts, outcome, wider });
}

const isThrough = (outcome: TraceOutcome): boolean =>
  outcome.kind === 'judged' && ['ALLOW', 'SANITIZE'].includes(outcome.after.decision);

/** Returns the policies that decide in the environment. A policy that only monitors holds nothing back. */
async function editablePolicies({ gate, tenantId }: Request, envName: string): Promise<EditablePolicy[]> {
  const tenant = tenantId();
  const files = gate.policies
    .filesOf(tenant)
    .map(({ document }): EditablePolicy => ({ document, version: 1, source: 'file' }));
  const applied = (await gate.store.policiesOf(tenant)).map(
    ({ name, description, envName: env, mode, rules, version }): EditablePolicy => ({
      document: {
        name,
        description,
        envNames: env === null ? undefined : [env],
        tenants: undefined,
        mode,
        rules: parseStoredRules(rules),
      },
      version,
      source: 'api',
    }),
  );
  return [...files, ...applied].filter(
    ({ document: { envNames, mode } }) => mode === 'enforce' && (envNames?.includes(envName) ?? true),
  );
}

/**
 * Returns the policy for exceptions to a decision of the posture, whatever its environment. Where there is
 * none, it is a new one without rules.
 */
const exceptionsOf = (policies: readonly EditablePolicy[]): EditablePolicy =>
  policies.find(({ document, source }) => document.name === exceptionsName && source === 'api') ?? {
    document: {
      name: exceptionsName,
      description: 'Calls that are let through although no other rule says so.',
      envNames: undefined,
      tenants: undefined,
      mode: 'enforce',
      rules: [],
    },
    version: null,
    source: 'api',
  };

async function createJudge(request: Request, trace: Trace) {
  const { gate, caller } = request;
  const tenantId = request.tenantId();
  const tenant = gate.tenants.find(tenantId);
  if (!tenant) throw missing('tenant');
  const agents = new SimulatedAgents(gate, tenantId, caller);
  const own =
    (await agents.ownerOf(trace.key_id)) ?? (await agents.of(trace.agent_id, undefined)).identity.ownAgent;
  const active = await gate.policies.inputsOf(tenantId);
  return async (changed: readonly PolicyDocument[]): Promise<TraceOutcome> => {
    const candidates = changed.map((it) => checkPolicy(gate, tenantId, toApply(it)).policy);
    return createTraceJudge(gate.simulator, tenant, withCandidates(active, candidates, false))(trace, own);
  };
}

interface Found {
  readonly trace: Trace;
  readonly drafts: readonly Draft[];
  readonly outcome: TraceOutcome;
  readonly wider: readonly string[];
}

function toAnswer({ nowMs }: Request, { trace, drafts, outcome, wider }: Found): Answer {
  const { trace_id, method, url, agent_name, agent_id, tool_name, operation } = trace;
  const isDoubtful = outcome.kind === 'undetermined';
  const held =
    isDoubtful || isThrough(outcome) ? null : `With these rules it is still ${outcome.after.decision}.`;
  const policies = drafts.map((it) => toApply(it.changed));
  return {
    trace_id,
    because:
      held ?? (drafts.length === 0 && !isDoubtful ? 'As the policies are now, it is let through.' : null),
    summary: `The agent ${agent_name ?? agent_id} may do ${operation ?? 'this'} of ${tool_name}: ${method} ${url}`,
    wider: [...wider],
    changes: drafts.map((it) => toChange(it, exceptionId(trace))),
    outcome: isDoubtful
      ? { decision: null, because: outcome.because }
      : { decision: outcome.after.decision, because: null },
    simulate:
      policies.length === 0
        ? null
        : { policies, traces: { since: toIso(nowMs - dayMs), limit: tracesTried } },
  };
}

/** Returns a policy as apply takes it. One of a policy file may have several environments. */
function toApply({ name, description, envNames, mode, rules }: PolicyDocument): Record<string, unknown> {
  const env =
    envNames === undefined ? {} : envNames.length === 1 ? { env_name: envNames[0] } : { env_names: envNames };
  return { name, description, ...env, mode, rules };
}

function toChange(
  { document, changed, version, source, beforeRule }: Draft,
  ruleId: string,
): Answer['changes'][number] {
  const rule = changed.rules.find(({ rule_id }) => rule_id === ruleId);
  const { condition: _, ...shown } = rule ?? { condition: {} };
  const yaml = dump([shown], { lineWidth: -1 });
  const added = yaml
    .trimEnd()
    .split('\n')
    .map((it) => `+  ${it}`);
  const next = beforeRule === undefined ? [] : [`   - rule_id: ${beforeRule}`];
  const head =
    version === null
      ? ['--- /dev/null', `+++ ${document.name}`]
      : [`--- ${document.name} (version ${version})`, `+++ ${document.name} (version ${version + 1})`];
  return {
    name: document.name,
    env_names: document.envNames ? [...document.envNames] : null,
    source,
    version,
    before_rule: beforeRule ?? null,
    rule,
    yaml,
    diff: `${[...head, '   rules:', ...added, ...next].join('\n')}\n`,
    policy: toApply(changed),
  };
}
