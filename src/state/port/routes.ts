import type { AuditEvent } from './audit.ts';
import type { MaybePromise } from './page.ts';

/** Keeps inbound routes made through the API. No two tenants have the same prefix. */
export interface RouteStore {
  /**
   * Adds a route. Rejects with CONFLICT where the prefix is taken, and where the tenant has `routesMax`
   * already.
   */
  addRoute(route: StoredRoute, audit: AuditEvent): Promise<void>;
  /** Replaces the route with this tenant and prefix. Returns false where there is none. */
  replaceRoute(route: StoredRoute, audit: AuditEvent): Promise<boolean>;
  /** Replaces the sealed token if it is still `from`. Otherwise it changes nothing and returns false. */
  resealRoute(reseal: RouteReseal, audit: AuditEvent): Promise<boolean>;
  /** Removes a route; returns false where there is none. */
  removeRoute(tenantId: string, prefix: string, audit: AuditEvent): Promise<boolean>;
  /**
   * Returns the tenant that has the prefix, or had it last; undefined where nobody has. `routesOf` that tenant
   * is then as new as this. It takes less time with the tenant that was returned last.
   */
  routeOwner(prefix: string, lastOwner?: string): MaybePromise<string | undefined>;
  /**
   * Returns the routes by prefix as of the tenant's last `admit` or `routeOwner`. It is the same map until one
   * of them changes.
   */
  routesOf(tenantId: string): MaybePromise<ReadonlyMap<string, StoredRoute>>;
}

export interface RouteReseal extends Pick<StoredRoute, 'tenantId' | 'prefix'> {
  readonly from: string;
  readonly to: string;
}

/** A stored route, whose content means nothing to the state. */
export interface StoredRoute {
  readonly tenantId: string;
  readonly prefix: string;
  /** The route as it was written, without its shared secret. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The shared secret, sealed by the vault; null where there is none. */
  readonly sealedToken: string | null;
  /** The key that stands for callers without one; null where callers have keys. */
  readonly keyId: string | null;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
}
