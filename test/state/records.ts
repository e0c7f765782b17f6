import { randomBytes } from 'node:crypto';
import { newId, newTraceId } from '../../src/ids.ts';
import { toLine } from '../../src/state/journal/line.ts';
import type {
  AdmitRequest,
  AgentRecord,
  ApprovalRecord,
  AuditEvent,
  CallBatch,
  KeyRecord,
  PolicyApply,
  RecordedCall,
  TenantTerms,
} from '../../src/state/store.ts';

/** Records as the gateway would make them, each with its own ids. */

export const agentRecord = (fields: Partial<AgentRecord> = {}): AgentRecord => ({
  agentId: newId(),
  tenantId: 'acme',
  envName: 'prod',
  name: 'crawler',
  runtimeType: null,
  status: 'active',
  createdAtMs: 1_000,
  ...fields,
});

export const keyRecord = (fields: Partial<KeyRecord> & { agentId: string }): KeyRecord => ({
  keyId: newId(),
  hash: randomBytes(32).toString('hex'),
  prefix: 'iv_live_0abc',
  type: 'live',
  tenantId: 'acme',
  envName: 'prod',
  envNames: [],
  name: 'ci',
  description: null,
  permissions: ['scan'],
  ipAllowlist: null,
  createdAtMs: 1_000,
  expiresAtMs: null,
  revokedAtMs: null,
  perMinute: null,
  revokedBy: null,
  requireNonce: false,
  parentKeyId: null,
  maxUses: null,
  scope: null,
  isFromConfig: false,
  ...fields,
});

const unlimited: TenantTerms = {
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
  toolName: 'github',
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
  atMs: 2_000,
  kind: 'key.created',
  operator: 'admin',
  subject: 'key',
  details: { b: [1, { z: null, a: 'x' }], a: 'line\nbreak \ud800 \0', 10: 1, 9: 2 },
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
  nowMs: 1_000,
  createdBy: 'admin',
  ...fields,
});

export const approvalRecord = (fields: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  approvalId: newId(),
  status: 'pending',
  callHash: randomBytes(32).toString('hex'),
  traceId: newTraceId(1_000),
  tenantId: 'acme',
  envName: 'prod',
  agentId: newId(),
  agentName: 'crawler',
  keyId: newId(),
  toolName: 'github',
  operation: 'create_issue',
  method: 'POST',
  url: 'https://api.example.com/issues',
  bodyPreview: '',
  reasonCodes: ['RISK_HIGH'],
  riskScore: 0.6,
  riskBand: 'HIGH',
  policyId: null,
  ruleId: null,
  createdAtMs: 1_000,
  expiresAtMs: 2_000,
  decidedAtMs: null,
  decidedBy: null,
  note: null,
  scope: null,
  countsUntilMs: null,
  spentAtMs: null,
  ...fields,
});

export const recordedCall = (fields: Partial<RecordedCall> = {}): RecordedCall => {
  const traceId = fields.traceId ?? newTraceId(1_000);
  return {
    traceId,
    tenantId: 'acme',
    agentId: newId(),
    keyId: newId(),
    atMs: 1_000,
    decision: 'ALLOW',
    outcome: 'call',
    destination: 'api.example.com',
    line: JSON.stringify({ trace_id: traceId, text: 'naïve ✓\n\t' }),
    ...fields,
  };
};

/** As the journal would ship them. Of each batch a new one: the store may take its memory away. */
export const callBatch = (calls: readonly RecordedCall[], mayRepeat = false): CallBatch => ({
  lines: new TextEncoder().encode(calls.map(toLine).join('')),
  mayRepeat,
});
