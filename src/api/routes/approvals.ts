import { z } from 'zod';
import { GatewayError } from '../../errors.ts';
import type { Gate } from '../../pipeline/gate.ts';
import { toParts } from '../../pipeline/trust-loss.ts';
import type { ApprovalRecord } from '../../state/store.ts';
import { auditEvent, operatorOf } from '../audit-event.ts';
import {
  band,
  idOf,
  missing,
  ofTenant,
  pageOf,
  pageQuery,
  time,
  toIso,
  toIsoOrNull,
  toListAnswer,
  toPage,
} from '../fields.ts';
import { route } from '../route.ts';

const tag = 'approvals';
const what = 'approval';
/** Who waits keeps a place that the held calls of the tenant need, too. */
const waitsPerKeyMax = 32;

const status = z.enum(['pending', 'approved', 'denied', 'expired']);

const publicApproval = z
  .object({
    approval_id: z.uuid(),
    status,
    trace_id: z.uuid(),
    tenant_id: z.string(),
    env_name: z.string(),
    agent_id: z.uuid(),
    agent_name: z.string(),
    tool_name: z.string(),
    operation: z.string(),
    method: z.string(),
    url: z.string(),
    body_preview: z.string(),
    reason_codes: z.array(z.string()),
    risk_score: z.number(),
    risk_band: band,
    policy_id: z.string().nullable(),
    rule_id: z.string().nullable(),
    created_at: time,
    expires_at: time,
    decided_at: time.nullable(),
    decided_by: z.string().nullable(),
    scope: z.enum(['once', 'window']).nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'Approval' });

const show = (it: ApprovalRecord): z.infer<typeof publicApproval> => ({
  approval_id: it.approvalId,
  status: it.status,
  trace_id: it.traceId,
  tenant_id: it.tenantId,
  env_name: it.envName,
  agent_id: it.agentId,
  agent_name: it.agentName,
  tool_name: it.toolName,
  operation: it.operation,
  method: it.method,
  url: it.url,
  body_preview: it.bodyPreview,
  reason_codes: [...it.reasonCodes],
  risk_score: it.riskScore,
  risk_band: band.parse(it.riskBand),
  policy_id: it.policyId,
  rule_id: it.ruleId,
  created_at: toIso(it.createdAtMs),
  expires_at: toIso(it.expiresAtMs),
  decided_at: toIsoOrNull(it.decidedAtMs),
  decided_by: it.decidedBy,
  scope: it.scope,
  note: it.note,
});

const approvalState = z
  .object({
    status,
    approval_id: z.uuid(),
    expires_at: time,
    decided_at: time.optional(),
    note: z.string().nullable().optional(),
  })
  .meta({ id: 'ApprovalStatus' });

const showState = (it: ApprovalRecord): z.infer<typeof approvalState> => ({
  status: it.status,
  approval_id: it.approvalId,
  expires_at: toIso(it.expiresAtMs),
  ...(it.decidedAtMs === null ? {} : { decided_at: toIso(it.decidedAtMs), note: it.note }),
});

async function find(
  gate: Gate,
  tenantId: string,
  approvalId: string,
  nowMs: number,
): Promise<ApprovalRecord> {
  const approval = await gate.store.approvalById(tenantId, approvalId, nowMs);
  if (!approval) throw missing(what);
  return approval;
}

/** `GET /v1/approvals/{approval_id}/status`: what became of a held call. Polling it costs no quota and no rate. */
export const approvalStatus = route({
  method: 'GET',
  path: '/v1/approvals/:approval_id/status',
  tag,
  summary: 'What became of a held call',
  access: 'key',
  answer: approvalState,
  async handle({ gate, params, tenantId, nowMs }) {
    return showState(await find(gate, tenantId(), idOf(params, 'approval_id', what), nowMs));
  },
});

/** `GET /v1/approvals/{approval_id}/wait`: answers once it is decided, or after `timeout` seconds that it is not. */
export const awaitApproval = route({
  method: 'GET',
  path: '/v1/approvals/:approval_id/wait',
  tag,
  summary: 'Wait for the decision on a held call',
  access: 'key',
  query: z.object({ timeout: z.coerce.number().int().min(1).max(60).default(30) }),
  answer: approvalState,
  perKeyMax: waitsPerKeyMax,
  async handle({ gate, params, query, tenantId, signal }) {
    const approvalId = idOf(params, 'approval_id', what);
    const approval = await gate.approvals.wait(
      tenantId(),
      approvalId,
      query.timeout * 1000,
      () => !signal.aborted,
    );
    if (!approval) throw missing(what);
    return showState(approval);
  },
});

/** `GET /v1/approvals`: newest first. */
export const listApprovals = route({
  method: 'GET',
  path: '/v1/approvals',
  tag,
  summary: 'List approvals',
  access: ['activity:read', 'approvals:decide'],
  query: z.object({ ...pageQuery, status: status.optional() }),
  answer: pageOf(publicApproval),
  isListing: true,
  async handle({ gate, query, tenantId, nowMs }) {
    return toListAnswer(await gate.store.listApprovals(tenantId(), query.status, nowMs, toPage(query)), show);
  },
});

/** `GET /v1/approvals/{approval_id}` */
export const showApproval = route({
  method: 'GET',
  path: '/v1/approvals/:approval_id',
  tag,
  summary: 'Show an approval',
  access: ['activity:read', 'approvals:decide'],
  answer: publicApproval,
  async handle({ gate, params, tenantId, nowMs }) {
    return show(await find(gate, tenantId(), idOf(params, 'approval_id', what), nowMs));
  },
});

const decisionRequest = z.object({
  ...ofTenant,
  decision: z.enum(['approved', 'denied']),
  note: z.string().max(1024).nullish(),
  scope: z.enum(['once', 'window']).nullish(),
});

/** `POST /v1/approvals/{approval_id}/decision`: decides once. Whoever comes second is told what stands. */
export const decideApproval = route({
  method: 'POST',
  path: '/v1/approvals/:approval_id/decision',
  tag,
  summary: 'Decide a held call',
  access: 'approvals:decide',
  body: decisionRequest,
  answer: publicApproval,
  async handle({ gate, caller, params, body, tenantId, nowMs }) {
    const tenant = tenantId();
    const approval = await find(gate, tenant, idOf(params, 'approval_id', what), nowMs);
    if (caller.kind === 'key' && !(await gate.approvals.mayDecide(approval, caller.key)))
      throw new GatewayError('FORBIDDEN', 'Who asks for an approval cannot decide it.');
    const windows = gate.tenants.find(tenant)?.approvals;
    const windowMs = body.decision === 'approved' ? windows?.grantWindowMs : windows?.denyWindowMs;
    const decided = await gate.store.decideApproval(
      tenant,
      approval.approvalId,
      {
        decision: body.decision,
        decidedBy: operatorOf(caller),
        note: body.note ?? null,
        scope: body.scope ?? 'once',
        nowMs,
        windowMs: windowMs ?? 0,
      },
      auditEvent(
        { caller, nowMs },
        {
          tenantId: tenant,
          kind: 'approval.decided',
          subject: approval.approvalId,
          details: { decision: body.decision, trace_id: approval.traceId, agent_id: approval.agentId },
        },
      ),
    );
    if (!decided) throw missing(what);
    gate.approvals.wake(approval.approvalId);
    if (!decided.isDecidedNow) throw alreadyDecided(decided.approval);
    if (decided.approval.status === 'denied') await distrust(gate, decided.approval, nowMs);
    return show(decided.approval);
  },
});

/** Whose call an analyst denies is trusted less. The denial itself stands, whatever becomes of this. */
async function distrust(
  { store, config, log }: Gate,
  { tenantId, agentId, traceId }: ApprovalRecord,
  nowMs: number,
): Promise<void> {
  const parts = toParts(config.risk.trust.analystDenial);
  try {
    if (parts > 0)
      await store.markTrust(tenantId, agentId, { cause: 'analyst-denial', parts, atMs: nowMs, traceId });
  } catch (error) {
    log.error(
      { trace_id: traceId, agent_id: agentId, err: error },
      'the denial was not held against the agent',
    );
  }
}

const alreadyDecided = ({ status: decision, decidedAtMs }: ApprovalRecord): GatewayError =>
  new GatewayError('CONFLICT', `The approval is ${decision} already.`, {
    standing: { decision, decided_at: toIsoOrNull(decidedAtMs) },
  });
