import { isDeepStrictEqual } from 'node:util';
import type { Config, InboundRoute } from '../config/schema.ts';
import { routeSettings } from '../config/sections/inbound.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { createCache } from '../state/cache.ts';
import type { MaybePromise, Store, StoredRoute } from '../state/store.ts';
import { kept } from '../util/kept.ts';
import { after, orElse } from '../util/maybe-promise.ts';
import type { Vault } from './vault.ts';

/** A route without the token that its callers show. */
export type ReadRoute = Omit<InboundRoute, 'auth'> & { readonly auth: Shown<InboundRoute['auth']> };
type Shown<Auth> = Auth extends { readonly value: unknown } ? Omit<Auth, 'value'> : Auth;

/** The upstream and the credential of a route. */
export type RouteReach = Pick<InboundRoute, 'tenantId' | 'credential' | 'upstream'>;

/** Returns the place under which the vault seals the token that the callers of a route show. */
export const tokenPlace = ({ tenantId, prefix }: Pick<StoredRoute, 'tenantId' | 'prefix'>) => ({
  tenantId,
  name: prefix,
  type: 'inbound-token',
});

const ownersMax = 4_096;

/** Holds the inbound routes of the configuration and those of the API. The former win. */
export class RouteBook {
  readonly #inbound;
  readonly #store: Pick<Store, 'routeOwner' | 'routesOf'>;
  readonly #vault: Vault;
  /** Tenants of prefixes that were asked for lately. They are used while the state is away. */
  readonly #owners = createCache<string>(ownersMax);
  readonly #opened = new WeakMap<StoredRoute, InboundRoute>();
  readonly #lists = new WeakMap<ReadonlyMap<string, StoredRoute>, readonly RouteReach[]>();

  constructor(
    { inbound }: Pick<Config, 'inbound'>,
    store: Pick<Store, 'routeOwner' | 'routesOf'>,
    vault: Vault,
  ) {
    this.#inbound = inbound;
    this.#store = store;
    this.#vault = vault;
  }

  /** Returns a stored route ready for use. Throws CREDENTIAL_UNAVAILABLE if the vault fails to open it. */
  open(stored: StoredRoute): InboundRoute {
    return kept(this.#opened, stored, () =>
      Object.freeze(toRoute(stored, stored.sealedToken === null ? undefined : this.#tokenOf(stored))),
    );
  }

  /** Tells whether `open` would succeed. */
  opens(stored: StoredRoute): boolean {
    return stored.sealedToken === null || this.#opened.has(stored) || this.#unsealed(stored) !== undefined;
  }

  /**
   * Returns the route of a prefix; undefined where there is none. While the state is away it is the last
   * known one, which `admit` may let in.
   */
  find(prefix: string): MaybePromise<InboundRoute | undefined> {
    const written = this.#inbound.get(prefix);
    if (written) return written;
    return after(this.#ownerOf(prefix), (it) =>
      it === undefined ? undefined : this.#amongStored(it, prefix),
    );
  }

  /** Tells whether the route is unchanged, as far as the last `admit` of its tenant knows. */
  stands(route: InboundRoute): MaybePromise<boolean> {
    if (this.#inbound.get(route.prefix) === route) return true;
    // A route whose token was sealed anew counts as unchanged.
    return after(
      this.#amongStored(route.tenantId, route.prefix),
      (it) => it === route || isDeepStrictEqual(it, route),
    );
  }

  /** Returns the tenant's routes that were made through the API: the same list until one of them changes. */
  storedOf(tenantId: string): MaybePromise<readonly RouteReach[]> {
    return after(this.#store.routesOf(tenantId), (all) =>
      kept(this.#lists, all, () =>
        [...all.values()].filter((it) => !this.#inbound.has(it.prefix)).map(reachOf),
      ),
    );
  }

  #ownerOf(prefix: string): MaybePromise<string | undefined> {
    const noted = (owner: string | undefined): string | undefined => {
      if (owner === undefined) this.#owners.delete(prefix);
      else this.#owners.set(prefix, owner);
      return owner;
    };
    const recalled = (error: unknown): string => {
      const known = this.#owners.get(prefix);
      if (known === undefined || toGatewayError(error).code !== 'STATE_UNAVAILABLE') throw error;
      return known;
    };
    return orElse(() => after(this.#store.routeOwner(prefix, this.#owners.get(prefix)), noted), recalled);
  }

  #unsealed(stored: StoredRoute): string | undefined {
    return stored.sealedToken === null ? undefined : this.#vault.open(tokenPlace(stored), stored.sealedToken);
  }

  #tokenOf(stored: StoredRoute): string {
    const token = this.#unsealed(stored);
    if (token !== undefined) return token;
    throw new GatewayError(
      'CREDENTIAL_UNAVAILABLE',
      `The token of the route ${stored.prefix} cannot be opened with the key of the vault.`,
    );
  }

  #amongStored(tenantId: string, prefix: string): MaybePromise<InboundRoute | undefined> {
    return after(this.#store.routesOf(tenantId), (all) => {
      const stored = all.get(prefix);
      return stored && this.open(stored);
    });
  }
}

function reachOf(stored: StoredRoute): RouteReach {
  const { tenantId, credential, upstream } = readRoute(stored);
  return { tenantId, credential, upstream };
}

/** Returns the content of a stored route without its token, which is not opened for this. */
export function readRoute(stored: StoredRoute): ReadRoute {
  // The schema requires some token; this one does not leave the function.
  const { auth, ...route } = toRoute(stored, stored.sealedToken === null ? undefined : 'unread');
  if (auth.type !== 'token') return { ...route, auth };
  const { value: _, ...shown } = auth;
  return { ...route, auth: shown };
}

function toRoute({ tenantId, prefix, keyId, document }: StoredRoute, value?: string): InboundRoute {
  const written =
    value === undefined ? document : { ...document, auth: { ...Object(document['auth']), value } };
  const { agent, ...settings } = routeSettings.parse(written);
  return { prefix, tenantId, keyId, agentId: agent, ...settings };
}
