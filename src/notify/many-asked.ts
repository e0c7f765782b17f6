import { RecentMap } from '../util/recent-map.ts';
/** Held calls of one tenant within a minute of which people are told one by one. */
export const askedAtOnceMax = 20;
const spanMs = 60_000;
/** Tenants that asked last. */
const tenantsMax = 1_000;

/**
 * Each held call waits for a decision of its own, so people are told of each at once. But a channel that
 * tenants share takes one message a second. Hundreds of held calls of one tenant would keep the others'
 * waiting until they end.
 */
export class ManyAsked {
  /** Minutes in the order in which they began. */
  readonly #minutes = new RecentMap<string, { readonly fromMs: number; count: number }>(tenantsMax);

  /** Counts a held call, and says whether so many came before it that it need not be told of by itself. */
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
