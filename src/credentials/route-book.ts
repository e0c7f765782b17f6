import { isDeepStrictEqual } from 'node:util';
import type { Config, InboundRoute } from '../config/schema.ts';
import { routeSettings } from '../config/sections/inbound.ts';
import { GatewayError } from '../core/errors.ts';
import type { MaybePromise, Store, StoredRoute } from '../state/store.ts';
import { after } from '../util/maybe-promise.ts';
import type { Vault } from './vault.ts';

/** The inbound routes: those of the configuration, and those that were made through the API. The former win. */
export interface RouteBook {
  find(prefix: string): MaybePromise<InboundRoute | undefined>;
  /** Tells whether the route is unchanged, as far as the last `admit` of its tenant knows. */
  stands(route: InboundRoute): MaybePromise<boolean>;
  /** The tenant's routes that were made through the API: the same list until one of them changes. */
  storedOf(tenantId: string): MaybePromise<readonly RouteReach[]>;
  /** A route of the state as it is followed. Throws CREDENTIAL_UNAVAILABLE where the vault does not open its token. */
  open(stored: StoredRoute): InboundRoute;
  /** Tells whether `open` would succeed. */
  opens(stored: StoredRoute): boolean;
}

/** A route without what its callers show. */
export type ReadRoute = Omit<InboundRoute, 'auth'> & { readonly auth: Shown<InboundRoute['auth']> };
type Shown<Auth> = Auth extends { readonly value: unknown } ? Omit<Auth, 'value'> : Auth;

/** The upstream and the credential of a route. */
export type RouteReach = Pick<InboundRoute, 'tenantId' | 'credential' | 'upstream'>;

/** Under which the vault seals what the callers of a route show. */
export const tokenPlace = ({ tenantId, prefix }: Pick<StoredRoute, 'tenantId' | 'prefix'>) => ({
  tenantId,
  name: prefix,
  type: 'inbound-token',
});

export function createRouteBook(
  { inbound }: Pick<Config, 'inbound'>,
  store: Pick<Store, 'routeOwner' | 'routesOf'>,
  vault: Vault,
): RouteBook {
  const opened = new WeakMap<StoredRoute, InboundRoute>();
  const lists = new WeakMap<ReadonlyMap<string, StoredRoute>, readonly RouteReach[]>();

  function open(stored: StoredRoute): InboundRoute {
    const known = opened.get(stored);
    if (known) return known;
    const route = Object.freeze(toRoute(stored, stored.sealedToken === null ? undefined : tokenOf(stored)));
    opened.set(stored, route);
    return route;
  }

  const unsealed = (stored: StoredRoute): string | undefined =>
    stored.sealedToken === null ? undefined : vault.open(tokenPlace(stored), stored.sealedToken);

  function tokenOf(stored: StoredRoute): string {
    const token = unsealed(stored);
    if (token !== undefined) return token;
    throw new GatewayError(
      'CREDENTIAL_UNAVAILABLE',
      `The token of the route ${stored.prefix} cannot be opened with the key of the vault.`,
    );
  }

  function amongStored(tenantId: string, prefix: string): MaybePromise<InboundRoute | undefined> {
    return after(store.routesOf(tenantId), (all) => {
      const stored = all.get(prefix);
      return stored && open(stored);
    });
  }

  return {
    open,
    opens: (stored) => stored.sealedToken === null || opened.has(stored) || unsealed(stored) !== undefined,
    find(prefix) {
      const written = inbound.get(prefix);
      if (written) return written;
      return after(store.routeOwner(prefix), (it) =>
        it === undefined ? undefined : amongStored(it, prefix),
      );
    },
    stands(route) {
      if (inbound.get(route.prefix) === route) return true;
      // One whose token was sealed anew says the same.
      return after(
        amongStored(route.tenantId, route.prefix),
        (it) => it === route || isDeepStrictEqual(it, route),
      );
    },
    storedOf: (tenantId) =>
      after(store.routesOf(tenantId), (all) => {
        const known = lists.get(all);
        if (known) return known;
        const list = [...all.values()].filter((it) => !inbound.has(it.prefix)).map(reachOf);
        lists.set(all, list);
        return list;
      }),
  };
}

function reachOf(stored: StoredRoute): RouteReach {
  const { tenantId, credential, upstream } = readRoute(stored);
  return { tenantId, credential, upstream };
}

/** The content of a stored route without its token, which is not opened for this. */
export function readRoute(stored: StoredRoute): ReadRoute {
  // Something must stand there for the schema; it does not leave this function.
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
