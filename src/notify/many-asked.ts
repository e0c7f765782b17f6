import { RecentMap } from '../util/recent-map.ts';
/** Held calls of one tenant within a minute that people are told of one by one. */
export const askedAtOnceMax = 20;
const spanMs = 60_000;
/** Tenants that are remembered, those that asked last. */
const tenantsMax = 1_000;

/**
 * Tells when a tenant holds too many calls for people to hear of each. Each held call waits for a decision of
 * its own, so people are usually told of each at once. But a channel that tenants share takes one message a
 * second. Hundreds of held calls of one tenant would keep the others' waiting until they end.
 */
export class ManyAsked {
  /** Running minutes by tenant, in the order in which they began. */
  readonly #minutes = new RecentMap<string, { readonly fromMs: number; count: number }>(tenantsMax);

  /** Counts a held call. Tells whether so many came before it that people need not hear of it alone. */
  isOneOfMany(tenantId: string, nowMs: number): boolean {
    const known = this.#minutes.get(tenantId);
    if (known && nowMs - known.fromMs < spanMs && nowMs >= known.fromMs) {
      known.count += 1;
      return known.count > askedAtOnceMax;
    }
    this.#minutes.set(tenantId, { fromMs: nowMs, count: 1 });
    return false;
  }
}
