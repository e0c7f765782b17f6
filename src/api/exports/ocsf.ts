import { attacksOf } from '../../core/attacks.ts';
import type { Band, Decision } from '../../core/call.ts';
import type { Trace as RecordedTrace } from '../../decision/simulation/call-of-trace.ts';
import type { ExportFormat } from './format.ts';

/*
 * Traces as events of the Open Cybersecurity Schema Framework, 1.9.0: API Activity (class 6003) with the
 * profile `security_control`, one a line. What the class demands is always there; what has no place in it
 * stands under `unmapped`.
 */

const version = '1.9.0';
const classUid = 6003;

/** OCSF activities by method. A Map, since a method that a client made up may name a property of objects. */
const activities: ReadonlyMap<string, readonly [id: number, name: string]> = new Map([
  ['POST', [1, 'Create']],
  ['GET', [2, 'Read']],
  ['HEAD', [2, 'Read']],
  ['OPTIONS', [2, 'Read']],
  ['PUT', [3, 'Update']],
  ['PATCH', [3, 'Update']],
  ['DELETE', [4, 'Delete']],
]);

/** OCSF severities by risk band. A call of low risk is information. */
const severities: Readonly<Record<Band, readonly [id: number, name: string]>> = {
  LOW: [1, 'Informational'],
  MEDIUM: [3, 'Medium'],
  HIGH: [4, 'High'],
  CRITICAL: [5, 'Critical'],
};

const riskLevels: Readonly<Record<Band, readonly [id: number, name: string]>> = {
  LOW: [1, 'Low'],
  MEDIUM: [2, 'Medium'],
  HIGH: [3, 'High'],
  CRITICAL: [4, 'Critical'],
};

interface Outcome {
  readonly action: readonly [id: number, name: string];
  readonly disposition: readonly [id: number, name: string];
  readonly status: readonly [id: number, name: string];
}

const [success, failure] = [[1, 'Success'] as const, [2, 'Failure'] as const];

const outcomes: Readonly<Record<Decision, Outcome>> = {
  ALLOW: { action: [1, 'Allowed'], disposition: [1, 'Allowed'], status: success },
  SANITIZE: { action: [1, 'Allowed'], disposition: [11, 'Corrected'], status: success },
  REQUIRE_APPROVAL: { action: [2, 'Denied'], disposition: [2, 'Blocked'], status: failure },
  DENY: { action: [2, 'Denied'], disposition: [2, 'Blocked'], status: failure },
};

/** A trace as an export has it. Members that would say nothing are left out, other than the named ones. */
interface Trace extends Partial<Omit<RecordedTrace, Named>>, Pick<RecordedTrace, Named> {
  readonly client_address?: string;
  readonly policy_id?: string;
}

type Named = 'trace_id' | 'at' | 'decision';

function toEvent(trace: Trace): Readonly<Record<string, unknown>> {
  const {
    trace_id,
    at,
    tenant_id,
    env_name,
    agent_id,
    agent_name,
    runtime_type,
    key_id,
    key_prefix,
    client_address,
    method,
    url,
    tool_name,
    operation,
    decision,
    risk_score,
    risk_band = 'LOW',
    reason_codes = [],
    explanation: _,
    policy_id,
    policy_name,
    ...unmapped
  } = trace;
  const [activityId, activityName] = activities.get(method ?? '') ?? [99, method ?? 'Other'];
  return {
    activity_id: activityId,
    activity_name: activityName,
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: classUid,
    class_name: 'API Activity',
    type_uid: classUid * 100 + activityId,
    type_name: `API Activity: ${activityName}`,
    time: Date.parse(at),
    ...judgementOf(trace),
    ...riskOf(risk_score, risk_band),
    ...(policy_id === undefined ? {} : { policy: { uid: policy_id, name: policy_name } }),
    metadata: metadataOf(trace_id, tenant_id, env_name),
    actor: {
      app_uid: agent_id,
      app_name: agent_name ?? undefined,
      user: { uid: key_id, name: key_prefix, type_id: 99, type: 'API key' },
    },
    api: {
      operation: operation ?? method ?? 'unknown',
      ...(tool_name === undefined ? {} : { service: { name: tool_name } }),
      request: { uid: trace_id },
    },
    src_endpoint: { ip: client_address ?? '0.0.0.0' },
    ...destinationOf(url),
    http_request: { http_method: method, url: { url_string: url } },
    unmapped: { decision, runtime_type, risk_score, risk_band, reason_codes, ...unmapped },
  };
}

const metadataOf = (traceId: string, tenantId: string | undefined, envName: string | undefined) => ({
  version,
  profiles: ['security_control'],
  product: { name: 'Postern', vendor_name: 'Postern' },
  uid: traceId,
  correlation_uid: traceId,
  tenant_uid: tenantId,
  labels: envName === undefined ? [] : [`env:${envName}`],
});

/** Returns the severity of a call, its outcome, and the reasons. */
function judgementOf({ decision, method, url, risk_band = 'LOW', reason_codes = [], explanation }: Trace) {
  const [severityId, severity] = severities[risk_band];
  const { action, disposition, status } = outcomes[decision];
  return {
    severity_id: severityId,
    severity,
    status_id: status[0],
    status: status[1],
    status_code: reason_codes[0],
    status_detail: explanation?.join(' '),
    message: `${decision} ${method ?? ''} ${url ?? ''}`,
    action_id: action[0],
    action: action[1],
    disposition_id: disposition[0],
    disposition: disposition[1],
    attacks: attacksOf(reason_codes),
    is_alert: decision !== 'ALLOW' && severityId >= 3,
  };
}

/** Returns the risk of a call. OCSF wants a whole number as the score; ours is from 0 to 1. */
function riskOf(score: number | undefined, band: Band): Readonly<Record<string, unknown>> {
  const [id, name] = riskLevels[band];
  const level = { risk_level_id: id, risk_level: name };
  return score === undefined ? level : { ...level, risk_score: Math.round(score * 100) };
}

/** Returns the destination by a URL, which may be cut or redacted; an empty object where it has no host. */
function destinationOf(url: string | undefined): Readonly<Record<string, unknown>> {
  const parsed = URL.parse(url ?? '');
  if (!parsed || parsed.hostname === '') return {};
  const port = Number(parsed.port || { 'https:': 443, 'http:': 80 }[parsed.protocol] || 0);
  return { dst_endpoint: { hostname: parsed.hostname, ...(port > 0 ? { port } : {}) } };
}

export const ocsf: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'ocsf.ndjson',
  head: '',
  toText: (trace) => `${JSON.stringify(toEvent(JSON.parse(trace) as Trace))}\n`,
};
