import { GatewayError } from '../../errors.ts';
import { parseUuid } from '../../ids.ts';
import { route } from '../route.ts';
import { tenantOf } from '../tenant-of.ts';

/** `GET /v1/approvals/{id}/status`: what became of a held call. Polling it costs no quota. */
export const approvalStatus = route({
  method: 'GET',
  path: '/v1/approvals/:approvalId/status',
  access: 'key',
  async handle({ gate, caller, params, query, nowMs }) {
    const approvalId = parseUuid(params['approvalId'] ?? '');
    const approval =
      approvalId &&
      (await gate.store.approvalById(tenantOf(gate, caller, query.get('tenant_id')), approvalId, nowMs));
    if (!approval) throw new GatewayError('NOT_FOUND', 'There is no such approval.');
    return {
      status: 200,
      body: {
        status: approval.status,
        approval_id: approval.approvalId,
        expires_at: new Date(approval.expiresAtMs).toISOString(),
        ...(approval.decidedAtMs === null
          ? {}
          : { decided_at: new Date(approval.decidedAtMs).toISOString(), note: approval.note }),
      },
    };
  },
});
