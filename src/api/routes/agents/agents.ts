import { z } from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import { trustTermsOf } from '../../../decision/facts/trust-loss.ts';
import type { Gate } from '../../../decision/gate.ts';
import { describeMark } from '../../../risk/signals/low-trust.ts';
import { trustPartsAt, trustPartsMax, trustTrend, wholeTrust } from '../../../state/rules/trust.ts';
import type { AgentChange, AgentRecord, AgentUsage } from '../../../state/store.ts';
import {
  decision,
  freeText,
  idOf,
  listing,
  missing,
  ofTenant,
  present,
  text,
  time,
  title,
  toIso,
  toIsoOrNull,
  toPage,
} from '../../fields/fields.ts';
import { shown } from '../../fields/shown.ts';
import { type ApiRequest, type Caller, routesOf } from '../../route.ts';

const route = routesOf('agents');
const what = 'agent';

const publicAgent = z
  .object({
    agent_id: z.uuid(),
    name: z.string(),
    tenant_id: z.string(),
    env_name: z.string(),
    runtime_type: z.string().nullable(),
    status: z.enum(['active', 'suspended']),
    tenant_suspended: z.boolean().describe('With all agents of the tenant, whatever its own status'),
    trust_score: z.number().min(0).max(1),
    trust_reasons: z.array(z.string()).describe('The last that were held against it, newest first'),
    trust_trend: z
      .array(z.object({ at: time, score: z.number() }))
      .describe('Before and after each loss that is kept, oldest first'),
    created_at: time,
    first_seen: time.nullable(),
    last_seen: time.nullable(),
    calls_total: z.int(),
    decisions_24h: z.record(decision, z.int()),
  })
  .meta({ id: 'Agent' });

type PublicAgent = z.infer<typeof publicAgent>;

const nothing: AgentUsage = {
  firstSeenAtMs: null,
  lastSeenAtMs: null,
  callsTotal: 0,
  decisions24h: { ALLOW: 0, SANITIZE: 0, REQUIRE_APPROVAL: 0, DENY: 0 },
};

/** Facts that are shown beside an agent's record. */
interface Standing {
  readonly usage: AgentUsage;
  /** Trust in the agent, from 0 to 1. */
  readonly trustScore: number;
  readonly trustReasons: readonly string[];
  readonly trustTrend: PublicAgent['trust_trend'];
  readonly isTenantSuspended: boolean;
}

const toPublic = (agent: AgentRecord, { usage, isTenantSuspended, ...trust }: Standing): PublicAgent =>
  shown(
    publicAgent,
    { ...agent, ...usage, ...trust },
    {
      tenant_suspended: isTenantSuspended,
      first_seen: toIsoOrNull(usage.firstSeenAtMs),
      last_seen: toIsoOrNull(usage.lastSeenAtMs),
    },
  );

async function showAll(
  { store, config }: Gate,
  tenantId: string,
  agents: readonly AgentRecord[],
  nowMs: number,
): Promise<PublicAgent[]> {
  if (agents.length === 0) return [];
  const ids = agents.map((it) => it.agentId);
  const [usages, trusts, suspension] = await Promise.all([
    store.agentUsage(tenantId, ids, nowMs),
    store.trustOf(tenantId, ids),
    store.suspensionOf(tenantId),
  ]);
  const terms = trustTermsOf(config.risk.trust);
  return agents.map((agent, at) => {
    const trust = trusts[at] ?? wholeTrust;
    return toPublic(agent, {
      usage: usages[at] ?? nothing,
      trustScore: trustPartsAt(trust, nowMs, terms) / trustPartsMax,
      trustReasons: trust.marks.map(describeMark).reverse(),
      trustTrend: trustTrend(trust.marks).map(({ atMs, parts }) => ({
        at: toIso(atMs),
        score: parts / trustPartsMax,
      })),
      isTenantSuspended: suspension !== undefined,
    });
  });
}

async function show(gate: Gate, agent: AgentRecord, nowMs: number): Promise<PublicAgent> {
  const [shown] = await showAll(gate, agent.tenantId, [agent], nowMs);
  if (!shown) throw missing(what);
  return shown;
}

async function find(gate: Gate, tenantId: string, agentId: string): Promise<AgentRecord> {
  const agent = await gate.store.agentById(agentId);
  if (agent?.tenantId !== tenantId) throw missing(what);
  return agent;
}

/** `GET /v1/agents` lists agents, newest first. */
export const listAgents = route('GET /v1/agents', {
  summary: 'List agents',
  access: ['activity:read', 'agents:write'],
  ...listing(publicAgent),
  async handle({ gate, query, tenantId, nowMs }) {
    const tenant = tenantId();
    const { items, nextCursor } = await gate.store.listAgents(tenant, toPage(query));
    return { items: await showAll(gate, tenant, items, nowMs), next_cursor: nextCursor };
  },
});

export const showAgent = route('GET /v1/agents/:agent_id', {
  summary: 'Show an agent',
  access: ['activity:read', 'agents:write'],
  answer: publicAgent,
  async handle({ gate, params, tenantId, nowMs }) {
    return show(gate, await find(gate, tenantId(), idOf(params, 'agent_id', what)), nowMs);
  },
});

/** `PATCH /v1/agents/{agent_id}` changes what the body names, and nothing else. */
export const changeAgent = route('PATCH /v1/agents/:agent_id', {
  summary: 'Change the name or runtime type of an agent',
  access: 'agents:write',
  body: z.object({
    ...ofTenant,
    name: title.optional(),
    runtime_type: text.min(1).max(64).nullable().optional(),
  }),
  answer: publicAgent,
  handle: ({ body, ...request }) =>
    update(request, {
      kind: 'agent.updated',
      change: present({ name: body.name, runtimeType: body.runtime_type }),
      details: present({ name: body.name, runtime_type: body.runtime_type }),
    }),
});

interface Deed {
  readonly kind: string;
  readonly change: AgentChange;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Changes the agent that the path names, and audits it. */
async function update(
  { gate, params, tenantId, nowMs, audit }: Omit<ApiRequest<unknown, unknown>, 'body'>,
  { kind, change, details }: Deed,
): Promise<PublicAgent> {
  const tenant = tenantId();
  const { agentId } = await find(gate, tenant, idOf(params, 'agent_id', what));
  const agent = await gate.store.updateAgent(tenant, agentId, change, audit(kind, agentId, details));
  if (!agent) throw missing(what);
  return show(gate, agent, nowMs);
}

/** Throws FORBIDDEN for a key of the agent itself. A measure against it is for somebody else to lift. */
function refuseSelf(caller: Caller, agentId: string): void {
  if (caller.kind === 'key' && caller.key.agentId === agentId)
    throw new GatewayError('FORBIDDEN', 'A key cannot do this for the agent that it belongs to.');
}

const note = z.object({ ...ofTenant, note: freeText.nullish() }).nullish();

/** `POST /v1/agents/{agent_id}/suspend` denies the agent's calls, on every node from the next one on. */
export const suspendAgent = route('POST /v1/agents/:agent_id/suspend', {
  summary: 'Suspend an agent',
  access: 'agents:write',
  body: note,
  isBodyOptional: true,
  answer: publicAgent,
  handle({ body, ...request }) {
    const details = { note: body?.note ?? null };
    return update(request, { kind: 'agent.suspended', change: { status: 'suspended' }, details });
  },
});

export const reactivateAgent = route('POST /v1/agents/:agent_id/reactivate', {
  summary: 'End the suspension of an agent',
  access: 'agents:write',
  body: note,
  isBodyOptional: true,
  answer: publicAgent,
  handle({ body, ...request }) {
    refuseSelf(request.caller, idOf(request.params, 'agent_id', what));
    const details = { note: body?.note ?? null };
    return update(request, { kind: 'agent.reactivated', change: { status: 'active' }, details });
  },
});

/** `POST /v1/agents/{agent_id}/reset-trust` forgets all that is held against the agent. */
export const resetTrust = route('POST /v1/agents/:agent_id/reset-trust', {
  summary: 'Set the trust of an agent back to 1.0',
  access: 'agents:write',
  body: note,
  isBodyOptional: true,
  answer: publicAgent,
  async handle({ gate, caller, params, body, tenantId, nowMs, audit }) {
    const tenant = tenantId();
    const agentId = idOf(params, 'agent_id', what);
    refuseSelf(caller, agentId);
    const agent = await find(gate, tenant, agentId);
    const event = audit('agent.trust_reset', agentId, { note: body?.note ?? null });
    await gate.store.resetTrust(tenant, agentId, event);
    return show(gate, agent, nowMs);
  },
});
