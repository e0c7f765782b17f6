import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Gate } from '../../decision/gate.ts';
import type { AgentRecord, AuditEvent, IncidentChange, IncidentRecord } from '../../state/store.ts';
import {
  band,
  freeText,
  idOf,
  missing,
  ofTenant,
  pageOf,
  pageQuery,
  present,
  time,
  title,
  toIso,
  toListAnswer,
  toPage,
  uuid,
} from '../fields/fields.ts';
import { shown } from '../fields/shown.ts';
import { timelineEntry, timelineOf } from '../incident-timeline.ts';
import { type ApiRequest, operatorOf, RawAnswer, routesOf } from '../route.ts';

const route = routesOf('incidents');
const what = 'incident';

const closeCodes = [
  'false_positive',
  'agent_misbehavior',
  'agent_compromised',
  'policy_gap',
  'infrastructure',
] as const;

const status = z.enum(['open', 'investigating', 'closed']);
const noteText = freeText.trim().min(1);

const publicIncident = z
  .object({
    incident_id: z.uuid(),
    tenant_id: z.string(),
    env_name: z.string(),
    agent_id: z.uuid(),
    trigger: z.string(),
    title: z.string(),
    severity: band,
    status,
    trace_ids: z.array(z.string()),
    trace_count: z.int(),
    opened_at: time,
    changed_at: time,
    closed_at: time.nullable(),
    close_code: z.string().nullable(),
    closed_by: z.string().nullable(),
    notes: z.array(z.object({ at: time, author: z.string(), text: z.string() })),
  })
  .meta({ id: 'Incident' });

const fullIncident = publicIncident
  .extend({
    timeline: z.array(timelineEntry).describe('Oldest first, of traces, notes and changes the last 100'),
  })
  .meta({ id: 'IncidentWithTimeline' });

const show = (it: IncidentRecord): z.infer<typeof publicIncident> =>
  shown(publicIncident, it, {
    notes: it.notes.map(({ atMs, author, text }) => ({ at: toIso(atMs), author, text })),
  });

async function find(gate: Gate, tenantId: string, incidentId: string): Promise<IncidentRecord> {
  const incident = await gate.store.incidentById(tenantId, incidentId);
  if (!incident) throw missing(what);
  return incident;
}

/** `GET /v1/incidents` lists incidents, newest first. */
export const listIncidents = route('GET /v1/incidents', {
  summary: 'List incidents',
  access: ['activity:read', 'incidents:write'],
  query: z.object({
    ...pageQuery,
    status: status.optional(),
    agent_id: uuid.optional(),
    severity: band.optional(),
  }),
  answer: pageOf(publicIncident),
  isListing: true,
  async handle({ gate, query, tenantId }) {
    const filter = present({ status: query.status, agentId: query.agent_id, severity: query.severity });
    return toListAnswer(await gate.store.listIncidents(tenantId(), filter, toPage(query)), show);
  },
});

export const showIncident = route('GET /v1/incidents/:incident_id', {
  summary: 'Show an incident, with all that has happened',
  access: ['activity:read', 'incidents:write'],
  answer: fullIncident,
  async handle({ gate, params, tenantId }) {
    const incident = await find(gate, tenantId(), idOf(params, 'incident_id', what));
    return { ...show(incident), timeline: timelineOf(incident) };
  },
});

const openRequest = z.object({
  ...ofTenant,
  agent_id: uuid,
  title,
  severity: band.default('MEDIUM'),
  trace_id: uuid.nullish(),
  note: noteText.nullish(),
});

/**
 * `POST /v1/incidents` opens an incident by hand (201). Where an earlier one, opened by hand for the same
 * agent, is not closed, trace and note join it (200). The earlier incident then gets the graver severity of
 * the two.
 */
export const createIncident = route('POST /v1/incidents', {
  summary: 'Open an incident',
  access: 'incidents:write',
  body: openRequest,
  answer: publicIncident,
  status: 201,
  otherStatus: 200,
  async handle({ gate, caller, body, tenantId, nowMs, audit }) {
    const tenant = tenantId();
    const agent = await gate.store.agentById(body.agent_id);
    if (agent?.tenantId !== tenant) throw missing('agent');
    if (body.trace_id && !(await gate.store.traceById(tenant, body.trace_id))) throw missing('trace');
    const record = openedByHand(body, agent, { caller, nowMs });
    const { agentId: agent_id, severity, trigger } = record;
    const event = audit('incident.opened', record.incidentId, { agent_id, trigger, severity });
    const { isNew, incident } = await gate.store.openIncident(record, event);
    const shown = show(incident);
    if (isNew) return shown;
    const joined = { trace_id: body.trace_id ?? null, severity, note: Boolean(body.note) };
    await gate.store.appendAudit(audit('incident.changed', incident.incidentId, joined));
    return RawAnswer.of(200, shown);
  },
});

type OpenRequest = z.output<typeof openRequest>;

type Doing = Pick<ApiRequest<unknown, unknown>, 'caller' | 'nowMs'>;

function openedByHand(body: OpenRequest, agent: AgentRecord, { caller, nowMs }: Doing): IncidentRecord {
  const traceIds = body.trace_id ? [body.trace_id] : [];
  return {
    incidentId: newId(),
    tenantId: agent.tenantId,
    envName: agent.envName,
    agentId: agent.agentId,
    trigger: 'manual',
    title: body.title,
    severity: body.severity,
    status: 'open',
    traceIds,
    traceCount: traceIds.length,
    openedAtMs: nowMs,
    openedBy: operatorOf(caller),
    changedAtMs: nowMs,
    closedAtMs: null,
    closeCode: null,
    closedBy: null,
    notes: body.note ? [noteBy({ caller, nowMs }, body.note)] : [],
  };
}

/** The status that follows each status. An incident is looked into before it is closed. */
const next: Readonly<Record<IncidentRecord['status'], IncidentRecord['status'] | undefined>> = {
  open: 'investigating',
  investigating: 'closed',
  closed: undefined,
};

const transitionRequest = z
  .object({
    ...ofTenant,
    status: z.enum(['investigating', 'closed']),
    code: z.enum(closeCodes).nullish(),
    note: noteText.nullish(),
  })
  .refine((it) => it.status !== 'closed' || it.code, {
    path: ['code'],
    error: `is needed to close an incident: ${closeCodes.join(', ')}`,
  })
  .refine((it) => it.status === 'closed' || !it.code, {
    path: ['code'],
    error: 'belongs to closing an incident',
  });

/**
 * `POST /v1/incidents/{incident_id}/transition` moves an incident from open to investigating, or from there
 * to closed, with a code.
 */
export const transitionIncident = route('POST /v1/incidents/:incident_id/transition', {
  summary: 'Move an incident on',
  access: 'incidents:write',
  body: transitionRequest,
  answer: publicIncident,
  handle: ({ body, ...request }) =>
    applyChange(request, (standing) => {
      if (next[standing] !== body.status)
        throw new GatewayError('CONFLICT', `An incident that is ${standing} cannot become ${body.status}.`);
      const change: IncidentChange = {
        status: body.status,
        ...(body.code ? { closeCode: body.code } : {}),
        ...(body.note ? { note: noteBy(request, body.note) } : {}),
      };
      return { change, details: present({ status: body.status, code: body.code ?? undefined }) };
    }),
});

/** `PATCH /v1/incidents/{incident_id}` sets its severity. A graver cause that joins later raises it again. */
export const rateIncident = route('PATCH /v1/incidents/:incident_id', {
  summary: 'Set the severity of an incident',
  access: 'incidents:write',
  body: z.object({ ...ofTenant, severity: band }),
  answer: publicIncident,
  handle: ({ body: { severity }, ...request }) =>
    applyChange(request, () => ({ change: { severity }, details: { severity } })),
});

export const noteIncident = route('POST /v1/incidents/:incident_id/notes', {
  summary: 'Add a note to an incident',
  access: 'incidents:write',
  body: z.object({ ...ofTenant, text: noteText }),
  answer: publicIncident,
  status: 201,
  handle: ({ body: { text }, ...request }) =>
    applyChange(request, () => ({ change: { note: noteBy(request, text) }, details: { note: true } })),
});

const noteBy = ({ caller, nowMs }: Doing, text: string) => ({
  atMs: nowMs,
  author: operatorOf(caller),
  text,
});

/** Changes the incident that the path names, by what `toChange` makes of its status, and audits it. */
async function applyChange(
  { gate, params, tenantId, audit }: Omit<ApiRequest<unknown, unknown>, 'body'>,
  toChange: (standing: IncidentRecord['status']) => Pick<AuditEvent, 'details'> & { change: IncidentChange },
): Promise<z.infer<typeof publicIncident>> {
  const tenant = tenantId();
  const { incidentId, status } = await find(gate, tenant, idOf(params, 'incident_id', what));
  const { change, details } = toChange(status);
  const event = audit('incident.changed', incidentId, details);
  const changed = await gate.store.changeIncident(tenant, incidentId, status, change, event);
  if (!changed) throw missing(what);
  return show(changed);
}
