import { toGatewayError } from '../core/errors.ts';
import { noHabits, noSightings } from '../core/history.ts';
import { examine } from '../state/rules/admission.ts';
import { wholeTrust } from '../state/rules/trust.ts';
import type {
  AdmitRequest,
  Admitted,
  Identification,
  MaybePromise,
  NotAdmitted,
  Store,
} from '../state/store.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { orElse } from '../util/maybe-promise.ts';

/** The longest time since the state knew the key. */
export const recallMs = 5 * 60_000;

/**
 * Admits a call by the last records while the state is away. The tenant's `on_failure` must be open, and the
 * key must have been in use a moment ago. Nothing is counted. Returns undefined where the call must wait for
 * the state. That is so for ephemeral keys, whose uses nobody could count, and for calls that name another
 * agent than their key's.
 */
export function admitDegraded(
  store: Store,
  tenants: Tenants,
  request: AdmitRequest,
): (Admitted & { readonly isDegraded: true }) | NotAdmitted | undefined {
  const known = store.recall(request.keyHash, request.nowMs, recallMs);
  if (!known?.ok || known.key.type === 'ephemeral') return undefined;
  const { key, identity, agentStatus } = known;
  if (tenants.find(identity.tenantId)?.onFailure !== 'open') return undefined;
  const { ownAgent, tenantId, envName } = identity;
  const agent = { ...ownAgent, tenantId, envName, status: 'active', createdAtMs: 0 } as const;
  const holder = { key, parent: undefined, agent, isTenantSuspended: false };
  const examined = examine(holder, undefined, request);
  if (!examined.ok) return examined.code === 'UNKNOWN_AGENT' ? undefined : examined;
  // Nobody can tell whether the agent has been there, so the stricter answer stands. Budgets and concerns
  // about tools are unknown.
  const unknown = {
    isNewDestination: true,
    exceededBudgets: [],
    charges: [],
    toolConcerns: [],
    newNames: [],
    habits: noHabits,
    trust: wholeTrust,
    sightings: noSightings,
    scansUsed: 0,
  };
  return { ...examined, ...unknown, agentStatus, key, isDegraded: true };
}

/**
 * Identifies a key. While the state is away, its last answer stands if the key's tenant wants that. Otherwise
 * it throws the state's error.
 */
export function identifyOrRecall(
  { store, tenants }: { readonly store: Store; readonly tenants: Tenants },
  keyHash: string,
  nowMs: number,
): MaybePromise<Identification> {
  return orElse(
    () => store.identify(keyHash, nowMs),
    (error): Identification => {
      const isAway = toGatewayError(error).code === 'STATE_UNAVAILABLE';
      const known = isAway ? store.recall(keyHash, nowMs, recallMs) : undefined;
      if (!known?.ok || tenants.find(known.identity.tenantId)?.onFailure !== 'open') throw error;
      return known;
    },
  );
}
