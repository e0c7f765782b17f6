import type { EventKind } from '../config/sections/notifications.ts';
import { type Band, bands } from '../core/call.ts';
import { derivedId } from '../core/ids.ts';
import { ownName } from '../core/safe-name.ts';
import type { AgentRecord, ApprovalRecord, AuditEntry, IncidentRecord, Store } from '../state/store.ts';
import type { Notice } from './notice.ts';
import { cut, factTextOf, oneLine, storedName } from './texts.ts';

/* Makes notices of audit entries. An entry is written in one step with the change that it tells of. */

export type AuditNoticeSources = Pick<Store, 'agentById' | 'approvalById' | 'incidentById'>;

/** Facts about the subject of an audit entry, and its agent. */
interface About {
  readonly severity: Band;
  readonly summary: string;
  readonly agent?: Pick<AgentRecord, 'agentId' | 'envName' | 'name'> | undefined;
  /** The name that the agent is registered by. `agent` has the name that it went by. */
  readonly registeredName?: string | undefined;
  readonly toolName?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

type Teller = (entry: AuditEntry, facts: AuditNoticeSources) => Promise<About>;

const toIso = (ms: number): string => new Date(ms).toISOString();

const agentIn = async (
  { tenantId, details }: AuditEntry,
  facts: AuditNoticeSources,
): Promise<AgentRecord | undefined> => {
  const agentId = factTextOf(details['agent_id']);
  const agent = agentId === null ? undefined : await facts.agentById(agentId);
  return agent?.tenantId === tenantId ? agent : undefined;
};

const keyTold =
  (what: string): Teller =>
  async (entry, facts) => {
    const agent = await agentIn(entry, facts);
    const { prefix, name } = entry.details;
    const called = factTextOf(name);
    return {
      severity: 'LOW',
      summary: `The key ${factTextOf(prefix) ?? entry.subject}${called ? ` (${called})` : ''} was ${what} by ${entry.operator}`,
      agent,
      data: { key_id: entry.subject },
    };
  };

const incidentTold =
  (what: string): Teller =>
  async (entry, facts) => {
    const incident = await facts.incidentById(entry.tenantId, entry.subject);
    const agentId = incident?.agentId;
    const agent = agentId === undefined ? await agentIn(entry, facts) : await facts.agentById(agentId);
    const severity = bandIn(incident?.severity ?? entry.details['severity']);
    const title = incident?.title ?? factTextOf(entry.details['trigger']) ?? entry.subject;
    return {
      severity,
      summary: `Incident ${what}: ${title}${agent ? ` (${agent.name})` : ''}`,
      agent,
      data: { incident_id: entry.subject, ...(incident ? shownIncident(incident) : {}) },
    };
  };

const shownIncident = (it: IncidentRecord): Readonly<Record<string, unknown>> => ({
  title: it.title,
  trigger: it.trigger,
  severity: it.severity,
  status: it.status,
  agent_id: it.agentId,
  close_code: it.closeCode,
  trace_id: it.traceIds[0] ?? null,
  trace_count: it.traceCount,
});

const tellers: Readonly<Partial<Record<EventKind, Teller>>> = {
  'key.created': keyTold('created'),
  'key.revoked': keyTold('revoked'),
  'incident.opened': incidentTold('opened'),
  'incident.changed': incidentTold('changed'),
  async 'approval.decided'(entry, facts) {
    const approval = await facts.approvalById(entry.tenantId, entry.subject, entry.atMs);
    const decision = factTextOf(entry.details['decision']) ?? 'decided';
    const about = approval && (await aboutApproval(approval, facts));
    return {
      severity: 'LOW',
      ...about,
      summary: `The approval of ${about?.what ?? entry.subject} was ${decision} by ${entry.operator}`,
      data: { approval_id: entry.subject, decided_by: entry.operator, ...about?.data },
    };
  },
  async 'approval.expired'(entry, facts) {
    const approval = await facts.approvalById(entry.tenantId, entry.subject, entry.atMs);
    const about = approval && (await aboutApproval(approval, facts));
    return {
      severity: 'MEDIUM',
      ...about,
      summary: `Nobody has decided in time on the approval of ${about?.what ?? entry.subject}`,
      data: { approval_id: entry.subject, ...about?.data },
    };
  },
  async 'usage.threshold'({ tenantId, details }) {
    const percent = Number(details['percent']);
    return {
      severity: percent >= 100 ? 'CRITICAL' : percent >= 90 ? 'HIGH' : 'MEDIUM',
      summary: `The tenant ${tenantId} has used ${percent} % of its plan for this month`,
    };
  },
};

/** Kinds of audit entries that become notices. */
export const auditKinds = Object.keys(tellers) as readonly EventKind[];

/** Returns the notice of an entry; undefined where nobody is told. Its subject is shown as it is now. */
export async function noticeOfEntry(
  entry: AuditEntry,
  facts: AuditNoticeSources,
): Promise<Notice | undefined> {
  const kind = auditKinds.find((it) => it === entry.kind);
  const tell = kind && tellers[kind];
  if (!tell) return undefined;
  const { severity, summary, agent, registeredName = agent?.name, toolName, data } = await tell(entry, facts);
  const own = agent && { agent_id: agent.agentId, agent_name: agent.name, env_name: agent.envName };
  const base = { tenant_id: entry.tenantId, at: toIso(entry.atMs), by: entry.operator, ...own };
  return {
    noticeId: derivedId(entry.hash),
    kind,
    atMs: entry.atMs,
    severity,
    tenantId: entry.tenantId,
    envName: agent?.envName ?? null,
    agentId: agent?.agentId ?? null,
    agentName: storedName(agent?.name),
    ...(registeredName === undefined || registeredName === agent?.name
      ? {}
      : { registeredName: ownName(registeredName) }),
    toolName: storedName(toolName),
    // The summary consists of ids, names in the state, and names of operators, all of which are safe.
    summary: oneLine(ownName(summary)),
    data: cut({ ...base, ...data, ...entry.details }),
    escalateTo: [],
  };
}

const aboutApproval = async (it: ApprovalRecord, facts: AuditNoticeSources) => ({
  agent: { agentId: it.agentId, envName: it.envName, name: it.agentName },
  registeredName: (await facts.agentById(it.agentId))?.name,
  toolName: it.toolName,
  what: `${it.toolName} ${it.operation} for ${it.agentName}`,
  data: {
    approval_id: it.approvalId,
    trace_id: it.traceId,
    status: it.status,
    env_name: it.envName,
    agent_id: it.agentId,
    agent_name: it.agentName,
    tool_name: it.toolName,
    operation: it.operation,
    method: it.method,
    url: it.url,
    reason_codes: it.reasonCodes,
    risk_score: it.riskScore,
    risk_band: it.riskBand,
    note: it.note,
  },
});

const bandIn = (value: unknown): Band => bands.find((it) => it === value) ?? 'MEDIUM';
