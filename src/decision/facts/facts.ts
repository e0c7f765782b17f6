import { overridingMethods } from '../../catalogue/overriding-method.ts';
import type { TenantConfig } from '../../config/schema.ts';
import type { AssessedCall, DataClass, OperationPart } from '../../core/call.ts';
import type { Facts } from '../../policy/index.ts';
import { isVolumeBurst } from '../../risk/signals/volume-burst.ts';
import { isExternal } from '../../tenants/external.ts';
import { toRequest } from '../request.ts';
import { bodyValue, mayHideNames } from './body.ts';

/**
 * Returns the facts of a call, or of one `part` of it, that policies may ask for. Dear ones are computed when the first
 * rule asks.
 */
export function callFacts(
  call: AssessedCall<TenantConfig>,
  classes: readonly DataClass[],
  part?: OperationPart,
): Facts {
  const { received, identity, history, inspection, tenant } = call;
  const { maxDecodedBytes } = tenant;
  const target = part?.target ?? call.target;
  const operation = part?.operation ?? call.operation;
  return {
    envName: identity.envName,
    operation,
    method: part?.method ?? call.method,
    overridingMethods: overridingMethods(toRequest(received, maxDecodedBytes)),
    target,
    agentId: identity.agentId,
    runtimeType: received.claimed.runtimeType,
    ownAgent: identity.ownAgent,
    nowMs: call.receivedAtMs,
    classes: inspection.opaque.length === 0 ? classes : [...classes, 'OPAQUE_CONTENT'],
    riskScore: call.risk.score,
    bodyBytes: call.body.length,
    wordsFound: inspection.wordsFound,
    isNewDestination: history.isNewDestination,
    isVolumeBurst: isVolumeBurst(history.habits),
    trustScore: history.trustScore,
    threatIntelMatch: call.evidence.threats.length > 0,
    bodyValue: () => part?.body ?? bodyValue(received, maxDecodedBytes),
    get bodyTexts() {
      return inspection.bodyTexts;
    },
    get bodyHidesNames() {
      return mayHideNames(received, maxDecodedBytes);
    },
    get isExternalPrincipal() {
      return isExternal(operation, target, tenant);
    },
    // The budget as it was when the call was admitted, without its own charges.
    isBudgetExceeded: (name) => call.admission.exceededBudgets.includes(name),
  };
}
