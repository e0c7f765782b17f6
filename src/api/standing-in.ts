import { createCharges } from '../decision/budgets.ts';
import { trustTermsOf } from '../decision/facts/trust-loss.ts';
import type { Gate } from '../decision/gate.ts';
import type { Ground } from '../decision/simulation/simulate.ts';
import { trustPartsAt, trustPartsMax, wholeTrust } from '../state/rules/trust.ts';

/** Returns a function that answers what the state says of a simulated call now, without taking anything. */
export function standingIn({ store, tenants, config }: Gate): Ground['standingOf'] {
  const chargesOf = createCharges(tenants);
  const terms = trustTermsOf(config.risk.trust);
  return async (call) => {
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
