import { hash } from 'node:crypto';
import type { Call, Verdict } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import { redactedPreview, redactedUrl } from './redacted.ts';

/** Opens approvals for calls that must be held. */
export interface ApprovalDesk {
  /** The pending approval of an identical call, or a new one. It is on disk when the promise resolves. */
  open(
    call: Call,
    verdict: Verdict,
    tenant: TenantConfig,
  ): Promise<{ approvalId: string; expiresAtMs: number }>;
}

export function createApprovalDesk(store: Store): ApprovalDesk {
  return {
    async open(call, verdict, tenant) {
      const { identity, operation } = call;
      if (!identity || !operation)
        throw new Error('an approval needs a call that was identified and understood');
      const { approvalId, expiresAtMs } = await store.openApproval({
        approvalId: newId(),
        status: 'pending',
        callHash: callHash(call),
        traceId: call.traceId,
        tenantId: identity.tenantId,
        envName: identity.envName,
        agentId: identity.agentId,
        agentName: call.agentName ?? identity.agentName,
        keyId: identity.keyId,
        toolName: operation.toolName,
        operation: operation.name,
        method: call.method,
        url: redactedUrl(call),
        bodyPreview: redactedPreview(call),
        reasonCodes: verdict.reasonCodes,
        riskScore: call.riskScore,
        riskBand: call.riskBand,
        policyId: verdict.decidedBy?.policyId ?? null,
        ruleId: verdict.decidedBy?.ruleId ?? null,
        createdAtMs: call.receivedAtMs,
        expiresAtMs: call.receivedAtMs + tenant.approvals.ttlMs,
        decidedAtMs: null,
        decidedBy: null,
        note: null,
      });
      return { approvalId, expiresAtMs };
    },
  };
}

/** What makes two calls the same call: agent, method, URL and body, each with its length so that none runs into the next. */
function callHash(call: Call): string {
  const agentId = call.identity?.agentId ?? '';
  const head = [agentId, call.method, call.target.href]
    .map((it) => `${Buffer.byteLength(it)}:${it}`)
    .join('');
  return hash('sha256', Buffer.concat([Buffer.from(`${head}${call.body.length}:`), call.body]));
}
