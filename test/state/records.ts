import { randomBytes } from 'node:crypto';
import { newId, newTraceId } from '../../src/core/ids.ts';
import { ownName } from '../../src/core/safe-name.ts';
import { toLine } from '../../src/state/journal/line.ts';
import { liveKey } from '../../src/state/rules/live-key.ts';
import type {
  AdmitRequest,
  AgentRecord,
  ApprovalDecision,
  ApprovalRecord,
  AuditEvent,
  CallBatch,
  IncidentRecord,
  KeyRecord,
  PolicyApply,
  RecordedCall,
  TenantTerms,
} from '../../src/state/store.ts';

/** Records as the gateway would make them, each with its own ids. */

/** In the middle of a month, a day and an hour, and ahead of any clock: what a driver lets expire is not gone at once. */
export const noonMs = Date.UTC(2031, 4, 10, 12, 30);

/** Traces lie in the past: a driver may wait for one that is just being made. */
export const pastMs = Date.UTC(2026, 9, 1, 12);

const approvalLifeMs = 600_000;

export const agentRecord = (fields: Partial<AgentRecord> = {}): AgentRecord => ({
  agentId: newId(),
  tenantId: 'acme',
  envName: 'prod',
  name: 'crawler',
  runtimeType: null,
  status: 'active',
  createdAtMs: noonMs,
  ...fields,
});

export const keyRecord = (fields: Partial<KeyRecord> & { agentId: string }): KeyRecord => ({
  ...liveKey({
    keyId: newId(),
    hash: randomBytes(32).toString('hex'),
    prefix: 'iv_live_0abc',
    tenantId: 'acme',
    envName: 'prod',
    agentId: fields.agentId,
    name: 'ci',
    permissions: ['scan'],
    createdAtMs: noonMs,
  }),
  ...fields,
});

export const unlimited: TenantTerms = {
  scansPerMonth: null,
  scansPerMinute: null,
  burst: null,
  perKeyScansPerMinute: null,
  overage: false,
};

/** A call from an address that no allowlist has, in a tenant without limits. */
export const admitRequest = (fields: Partial<AdmitRequest> & { keyHash: string }): AdmitRequest => ({
  nowMs: 2_000,
  agentId: undefined,
  envName: undefined,
  clientAddress: '192.0.2.1',
  destination: 'api.example.com',
  toolName: ownName('github'),
  verb: 'READ',
  counts: 'call',
  termsOf: () => unlimited,
  ...fields,
});

/** Terms without limits but those named. */
export const termsOf = (fields: Partial<TenantTerms>): AdmitRequest['termsOf'] => {
  const terms = { ...unlimited, ...fields };
  return () => terms;
};

export const auditEvent = (fields: Partial<AuditEvent> = {}): AuditEvent => ({
  tenantId: 'acme',
  atMs: noonMs,
  kind: 'key.created',
  operator: 'admin',
  subject: 'key',
  details: { b: [1, { z: null, a: 'x' }], a: 'line\nbreak \ud800 \0 ✓', 10: 1, 9: 2 },
  ...fields,
});

export const policyApply = (fields: Partial<PolicyApply> = {}): PolicyApply => ({
  tenantId: 'acme',
  policyId: newId(),
  name: 'baseline',
  envName: null,
  description: '',
  rules: [{ id: 'r1', action: 'DENY' }],
  mode: 'enforce',
  nowMs: noonMs,
  createdBy: 'admin',
  ...fields,
});

export const approvalRecord = (fields: Partial<ApprovalRecord> = {}): ApprovalRecord => {
  const createdAtMs = fields.createdAtMs ?? noonMs;
  const agentId = fields.agentId ?? newId();
  return {
    approvalId: newId(),
    status: 'pending',
    callHash: randomBytes(32).toString('hex'),
    denialHash: randomBytes(32).toString('hex'),
    traceId: newTraceId(createdAtMs),
    tenantId: 'acme',
    envName: 'prod',
    agentId,
    agentName: ownName('crawler'),
    ownAgentId: agentId,
    keyId: newId(),
    toolName: ownName('github'),
    operation: ownName('create_issue'),
    method: ownName('POST'),
    url: ownName('https://api.example.com/issues'),
    bodyPreview: ownName('naïve ✓ \0 \ud800'),
    bodyBytes: 12,
    opensWebSocket: false,
    findings: [{ class: 'PII', kind: 'email', location: 'body:$.naïve', confidence: 'high' }],
    reasonCodes: ['RISK_HIGH'],
    riskScore: 0.6,
    riskBand: 'HIGH',
    policyId: null,
    ruleId: null,
    createdAtMs,
    expiresAtMs: createdAtMs + approvalLifeMs,
    decidedAtMs: null,
    decidedBy: null,
    note: null,
    scope: null,
    countsUntilMs: null,
    spentAtMs: null,
    ...fields,
  };
};

export const decided = (fields: Partial<ApprovalDecision> = {}): ApprovalDecision => ({
  decision: 'approved',
  decidedBy: 'iv_live_9xyz',
  note: 'fine',
  scope: 'once',
  nowMs: noonMs + 1_000,
  windowMs: 60_000,
  ...fields,
});

export const incidentRecord = (fields: Partial<IncidentRecord> = {}): IncidentRecord => {
  const openedAtMs = fields.openedAtMs ?? noonMs;
  return {
    incidentId: newId(),
    tenantId: 'acme',
    envName: 'prod',
    agentId: newId(),
    trigger: 'policy:baseline',
    title: 'naïve ✓ \0',
    severity: 'HIGH',
    status: 'open',
    traceIds: [newTraceId(openedAtMs)],
    traceCount: 1,
    openedAtMs,
    changedAtMs: openedAtMs,
    closedAtMs: null,
    closeCode: null,
    closedBy: null,
    notes: [],
    ...fields,
  };
};

export const recordedCall = (fields: Partial<RecordedCall> = {}): RecordedCall => {
  const traceId = fields.traceId ?? newTraceId(pastMs);
  return {
    traceId,
    tenantId: 'acme',
    agentId: newId(),
    keyId: newId(),
    atMs: pastMs,
    decision: 'ALLOW',
    outcome: 'call',
    destination: ownName('api.example.com'),
    line: ownName(JSON.stringify({ trace_id: traceId, text: 'naïve ✓\n\t' })),
    ...fields,
  };
};

/** As the journal would ship them. Of each batch a new one: the store may take its memory away. */
export const callBatch = (calls: readonly RecordedCall[], mayRepeat = false): CallBatch => ({
  lines: new TextEncoder().encode(calls.map(toLine).join('')),
  mayRepeat,
});
