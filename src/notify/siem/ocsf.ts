import type { EventKind } from '../../config/sections/notifications.ts';
import { attacksOf } from '../../core/attacks.ts';
import type { Band } from '../../core/call.ts';
import { toBrief } from '../brief.ts';
import type { Message } from '../notice.ts';
import { toData } from '../payload.ts';

/*
 * Writes events of the Open Cybersecurity Schema Framework. Each notice is a Detection Finding (category 2,
 * class 4) with the security control profile, since a gateway also decides. Fields without a name in the
 * schema are under `unmapped`.
 */

const schemaVersion = '1.9.0';
const categoryUid = 2;
const classUid = 2004;

const severities: Readonly<Record<Band, readonly [id: number, name: string]>> = {
  LOW: [2, 'Low'],
  MEDIUM: [3, 'Medium'],
  HIGH: [4, 'High'],
  CRITICAL: [5, 'Critical'],
};

const activities = { 1: 'Create', 2: 'Update', 3: 'Close' } as const;
const statuses = { 1: 'New', 2: 'In Progress', 4: 'Resolved' } as const;

/** Returns activity and status of the finding, by the state of its incident or approval. */
function lifeOf(kind: EventKind, state: unknown): readonly [keyof typeof activities, keyof typeof statuses] {
  if (kind === 'incident.changed') return state === 'closed' ? [3, 4] : [2, 2];
  return kind === 'approval.decided' || kind === 'approval.expired' ? [3, 4] : [1, 1];
}

/** The action of the gateway for each decision, as `action_id` and `disposition_id` with their names. */
const dispositions: Partial<
  Record<EventKind, readonly [actionId: number, action: string, id: number, name: string]>
> = {
  'decision.allow': [1, 'Allowed', 1, 'Allowed'],
  'decision.deny': [2, 'Denied', 2, 'Blocked'],
  'decision.sanitize': [1, 'Allowed', 99, 'Sanitized'],
  'decision.require_approval': [2, 'Denied', 99, 'Held for approval'],
};

export function toOcsf(message: Message): Record<string, unknown> {
  const { notice, messageId, count, digest } = message;
  const { title, summary } = toBrief(message);
  const data = toData(message);
  const [severityId, severity] = severities[notice.severity];
  const [activityId, statusId] = lifeOf(notice.kind, data['status']);
  return {
    activity_id: activityId,
    activity_name: activities[activityId],
    category_uid: categoryUid,
    category_name: 'Findings',
    class_uid: classUid,
    class_name: 'Detection Finding',
    type_uid: classUid * 100 + activityId,
    type_name: `Detection Finding: ${activities[activityId]}`,
    severity_id: severityId,
    severity,
    status_id: statusId,
    status: statuses[statusId],
    time: notice.atMs,
    ...(count > 1 ? { count } : {}),
    ...(digest ? { start_time: digest.firstMs, end_time: digest.lastMs } : {}),
    message: summary,
    is_alert: notice.kind !== 'decision.allow' && severityId >= 3,
    metadata: {
      version: schemaVersion,
      uid: messageId,
      event_code: notice.kind,
      profiles: ['security_control'],
      product: { name: 'Postern', vendor_name: 'Postern' },
      ...(notice.tenantId === null ? {} : { tenant_uid: notice.tenantId }),
    },
    finding_info: {
      uid: findingUid(data, notice.noticeId),
      title,
      desc: summary,
      types: [notice.kind],
      created_time: notice.atMs,
      analytic: { name: 'Postern policy', type_id: 1, type: 'Rule', ...ruleOf(data) },
    },
    ...dispositionOf(notice.kind),
    attacks: attacksOf(codesIn(data)),
    ...resourcesOf(message),
    unmapped: data,
  };
}

/** Returns the id of the finding. All notices of an incident or approval share it, so as to be updates. */
function findingUid(data: Readonly<Record<string, unknown>>, noticeId: string): string {
  const id = data['incident_id'] ?? data['approval_id'] ?? data['trace_id'];
  return typeof id === 'string' && id !== '' ? id : noticeId;
}

const ruleOf = ({ rule_id: uid }: Readonly<Record<string, unknown>>): object =>
  typeof uid === 'string' ? { uid } : {};

const codesIn = ({ reason_codes: codes }: Readonly<Record<string, unknown>>): readonly string[] =>
  Array.isArray(codes) ? codes.filter((it) => typeof it === 'string') : [];

function dispositionOf(kind: EventKind): object {
  const found = dispositions[kind];
  if (!found) return { action_id: 0, action: 'Unknown', disposition_id: 17, disposition: 'Logged' };
  const [actionId, action, dispositionId, disposition] = found;
  return { action_id: actionId, action, disposition_id: dispositionId, disposition };
}

function resourcesOf({ notice }: Message): object {
  const agent =
    notice.agentId === null
      ? []
      : [{ uid: notice.agentId, name: notice.agentName ?? notice.agentId, type: 'AI agent' }];
  const tool = notice.toolName === null ? [] : [{ name: notice.toolName, type: 'Tool' }];
  const all = [...agent, ...tool];
  return all.length > 0 ? { resources: all } : {};
}
