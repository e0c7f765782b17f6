import { z } from 'zod';
import { GatewayError } from '../../core/errors.ts';
import type { Gate } from '../../decision/gate.ts';
import type { ApprovalRecord } from '../../state/store.ts';
import { settleApproval } from '../decide-approval.ts';
import {
  approvalQuery,
  approvalStatuses,
  publicApproval,
  showApprovalFields,
  toApprovalFilter,
} from '../fields/approval-fields.ts';
import {
  freeText,
  idOf,
  missing,
  ofTenant,
  pageOf,
  time,
  toIso,
  toIsoOrNull,
  toListAnswer,
  toPage,
} from '../fields/fields.ts';
import { operatorOf, routesOf } from '../route.ts';

const route = routesOf('approvals');
const what = 'approval';
/** Waits that a key may have under way. Each takes a place that the held calls of the tenant need, too. */
const waitsPerKeyMax = 32;

const approvalState = z
  .object({
    status: approvalStatuses,
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

/** `GET /v1/approvals/{approval_id}/status` says what became of a held call. It costs no quota or rate. */
export const approvalStatus = route('GET /v1/approvals/:approval_id/status', {
  summary: 'What became of a held call',
  access: 'key',
  answer: approvalState,
  async handle({ gate, params, tenantId, nowMs }) {
    return showState(await find(gate, tenantId(), idOf(params, 'approval_id', what), nowMs));
  },
});

/** `GET /v1/approvals/{approval_id}/wait` answers once it is decided, and at the latest after `timeout` s. */
export const awaitApproval = route('GET /v1/approvals/:approval_id/wait', {
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

/** `GET /v1/approvals` lists approvals, newest first. */
export const listApprovals = route('GET /v1/approvals', {
  summary: 'List approvals',
  access: ['activity:read', 'approvals:decide'],
  query: approvalQuery,
  answer: pageOf(publicApproval),
  isListing: true,
  async handle({ gate, query, tenantId, nowMs }) {
    return toListAnswer(
      await gate.store.listApprovals(tenantId(), toApprovalFilter(query), nowMs, toPage(query)),
      (it) => showApprovalFields(gate, it),
    );
  },
});

export const showApproval = route('GET /v1/approvals/:approval_id', {
  summary: 'Show an approval',
  access: ['activity:read', 'approvals:decide'],
  answer: publicApproval,
  async handle({ gate, params, tenantId, nowMs }) {
    return showApprovalFields(gate, await find(gate, tenantId(), idOf(params, 'approval_id', what), nowMs));
  },
});

const decisionRequest = z.object({
  ...ofTenant,
  decision: z.enum(['approved', 'denied']),
  note: freeText.nullish(),
  scope: z.enum(['once', 'window']).nullish(),
});

/**
 * `POST /v1/approvals/{approval_id}/decision` decides an approval once. Whoever comes second is answered 409
 * with the decision that stands.
 */
export const decideApproval = route('POST /v1/approvals/:approval_id/decision', {
  summary: 'Decide a held call',
  access: 'approvals:decide',
  body: decisionRequest,
  answer: publicApproval,
  async handle({ gate, caller, params, body, tenantId }) {
    const tenant = tenantId();
    // The time is now, not when the request began. Its body may have come long after that, and the approval
    // may have ended meanwhile.
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
    return showApprovalFields(gate, decided.approval);
  },
});

const alreadyDecided = ({ status: decision, decidedAtMs }: ApprovalRecord): GatewayError =>
  new GatewayError('CONFLICT', `The approval is ${decision} already.`, {
    standing: { decision, decided_at: toIsoOrNull(decidedAtMs) },
  });
