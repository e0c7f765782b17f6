import { createBudgets } from '../pipeline/budgets.ts';
import type { Gate } from '../pipeline/gate.ts';
import type { Ground } from '../pipeline/simulate.ts';
import { trustTermsOf } from '../pipeline/trust-loss.ts';
import { trustPartsAt, trustPartsMax, wholeTrust } from '../state/trust.ts';

/** Answers what the state says of a simulated call now, without taking anything. */
export function standingIn({ store, tenants, config }: Gate): Ground['standingOf'] {
  const chargesOf = createBudgets(tenants);
  const terms = trustTermsOf(config.risk.trust);
  return async (call) => {
    if (!call.identity) throw new Error('a simulated call has an identity');
    const { tenantId, agentId } = call.identity;
    const charges = chargesOf?.(call, call.identity) ?? [];
    const question = { tenantId, agentId, destination: call.destination, charges };
    const [standing, [trust = wholeTrust]] = await Promise.all([
      store.standingOf(question),
      store.trustOf(tenantId, [agentId]),
    ]);
    return { ...standing, trustScore: trustPartsAt(trust, call.receivedAtMs, terms) / trustPartsMax };
  };
}
