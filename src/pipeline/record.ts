import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Journal } from '../state/journal.ts';
import type { RecordedCall, Store } from '../state/store.ts';
import type { Recorder } from './pipeline.ts';
import { redactedUrl } from './redacted.ts';

const findingsMax = 50;

/**
 * Leaves the trace of a call in the journal, before its answer is known to anybody. A call that cannot be recorded is not
 * let out. Refused calls are recorded too, once it is known whose key was used.
 */
export function createRecorder(journal: Journal, store: Store, log: Log): Recorder {
  return async function record(call, refusal) {
    const { identity } = call;
    if (!identity) return;
    if (refusal) refusal.traceId = call.traceId;
    if (refusal?.code === 'INTERNAL')
      log.error({ trace_id: call.traceId, err: refusal.cause }, 'a call failed');
    const recorded: RecordedCall = {
      traceId: call.traceId,
      tenantId: identity.tenantId,
      agentId: identity.agentId,
      atMs: call.receivedAtMs,
      decision: call.verdict?.decision ?? 'DENY',
      destination: call.destination,
      line: traceLine(call, refusal),
    };
    try {
      await journal.append(recorded);
    } catch (cause) {
      log.error({ trace_id: call.traceId, err: cause }, 'a call cannot be recorded');
      throw new GatewayError('STATE_UNAVAILABLE', 'The call cannot be recorded, so it is not let out.', {}, cause);
    }
    store.noteCall(recorded);
  };
}

/** The trace as one line of JSON. It names kinds and places of what was found, never the text. */
export function traceLine(call: Call, refusal: GatewayError | undefined): string {
  const { identity, operation, verdict, claimed } = call;
  return JSON.stringify({
    trace_id: call.traceId,
    at: new Date(call.receivedAtMs).toISOString(),
    tenant_id: identity?.tenantId,
    env_name: identity?.envName,
    agent_id: identity?.agentId,
    agent_name: claimed.agentName ?? identity?.agentName,
    runtime_type: claimed.runtimeType,
    key_id: identity?.keyId,
    key_prefix: identity?.keyPrefix,
    client_address: call.clientAddress,
    entrance: call.entrance,
    method: call.method,
    url: redactedUrl(call),
    tool_name: operation?.toolName,
    operation: operation?.name,
    category: operation?.category,
    verb: operation?.verb,
    body_bytes: call.body.length,
    decision: verdict?.decision ?? 'DENY',
    would_be: verdict?.wouldBe,
    reason_codes: refusal ? [refusal.code] : (verdict?.reasonCodes ?? []),
    risk_score: call.riskScore,
    risk_band: call.riskBand,
    classifications: verdict?.classifications ?? [],
    findings: call.findings.slice(0, findingsMax).map(publicFinding),
    signals: call.signals,
    matched_rules: verdict?.matchedRules.map(publicRule) ?? [],
    policy_id: verdict?.decidedBy?.policyId,
    policy_name: verdict?.decidedBy?.policyName,
    rule_id: verdict?.decidedBy?.ruleId,
    approval_id: verdict?.approval?.approvalId,
    explanation: verdict?.explanation ?? [],
  });
}

export interface PublicFinding {
  class: string;
  kind: string;
  location: string;
  confidence: string;
}

/** A finding as answers and traces show it. */
export const publicFinding = (it: Call['findings'][number]): PublicFinding => ({
  class: it.class,
  kind: it.kind,
  location: it.location,
  confidence: it.confidence,
});

export const publicRule = (
  it: NonNullable<Call['verdict']>['matchedRules'][number],
): Record<string, unknown> => ({
  policy_id: it.policyId,
  policy_name: it.policyName,
  version: it.version,
  rule_id: it.ruleId,
  action: it.action,
});
