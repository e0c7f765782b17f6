import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import type { ApprovalFilter, ApprovalRecord } from '../../state/store.ts';
import { operatorOf } from '../audit-event.ts';
import { settleApproval } from '../decide-approval.ts';
import {
  band,
  idOf,
  instant,
  missing,
  ofTenant,
  pageOf,
  pageQuery,
  present,
  time,
  toIso,
  toIsoOrNull,
  toListAnswer,
  toPage,
  uuid,
} from '../fields/fields.ts';
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
    body_preview: z.string().describe('The beginning; how much more there is stands behind it.'),
    body_bytes: z.int().describe('Of the whole body, as it was received.'),
    opens_websocket: z.boolean().describe('More follows, and is judged message by message.'),
    findings: z
      .array(z.object({ class: z.string(), kind: z.string(), location: z.string(), confidence: z.string() }))
      .describe('What was found in the call, and where: the first 50.'),
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
  body_bytes: it.bodyBytes,
  opens_websocket: it.opensWebSocket,
  findings: [...it.findings],
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
      () => !signal().aborted,
    );
    if (!approval) throw missing(what);
    return showState(approval);
  },
});

const word = z.string().min(1).max(256);

const listQuery = z.object({
  ...pageQuery,
  status: status.optional(),
  agent_id: uuid.optional(),
  tool_name: word.optional(),
  from: instant.optional().describe('Opened then or later.'),
  to: instant.optional().describe('Opened before then.'),
  agent: uuid.optional().describe('The same as agent_id.'),
  tool: word.optional().describe('The same as tool_name.'),
});

const toFilter = (query: z.output<typeof listQuery>): ApprovalFilter =>
  present({
    status: query.status,
    agentId: query.agent_id ?? query.agent,
    toolName: query.tool_name ?? query.tool,
    fromMs: query.from,
    beforeMs: query.to,
  });

/** `GET /v1/approvals`: newest first. */
export const listApprovals = route({
  method: 'GET',
  path: '/v1/approvals',
  tag,
  summary: 'List approvals',
  access: ['activity:read', 'approvals:decide'],
  query: listQuery,
  answer: pageOf(publicApproval),
  isListing: true,
  async handle({ gate, query, tenantId, nowMs }) {
    return toListAnswer(
      await gate.store.listApprovals(tenantId(), toFilter(query), nowMs, toPage(query)),
      show,
    );
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
  async handle({ gate, caller, params, body, tenantId }) {
    const tenant = tenantId();
    // Not when the request began: its body may have come long after, and the approval may have ended meanwhile.
    const nowMs = Date.now();
    const approval = await find(gate, tenant, idOf(params, 'approval_id', what), nowMs);
    if (caller.kind === 'key' && !(await gate.approvals.mayDecide(approval, caller.key)))
      throw new GatewayError('FORBIDDEN', 'Who asks for an approval cannot decide it.');
    const decided = await settleApproval(gate, approval, {
      decision: body.decision,
      operator: operatorOf(caller),
      note: body.note ?? null,
      scope: body.scope ?? 'once',
      nowMs,
    });
    if (!decided) throw missing(what);
    if (!decided.isDecidedNow) throw alreadyDecided(decided.approval);
    return show(decided.approval);
  },
});

const alreadyDecided = ({ status: decision, decidedAtMs }: ApprovalRecord): GatewayError =>
  new GatewayError('CONFLICT', `The approval is ${decision} already.`, {
    standing: { decision, decided_at: toIsoOrNull(decidedAtMs) },
  });
