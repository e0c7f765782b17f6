import { routeSettings } from '../config/inbound.ts';
import type { Config, InboundRoute } from '../config/schema.ts';
import { GatewayError } from '../errors.ts';
import type { MaybePromise, Store, StoredRoute } from '../state/store.ts';
import type { Vault } from '../vault/vault.ts';

/** The inbound routes: those of the configuration, and those that were made through the API. The former win. */
export interface RouteBook {
  find(prefix: string): MaybePromise<InboundRoute | undefined>;
  /** Whether the route is still what it was, as far as the last `admit` of its tenant tells. */
  stands(route: InboundRoute): MaybePromise<boolean>;
  /** Where those of the tenant lead that were made through the API: the same list until one of them changes. */
  storedOf(tenantId: string): MaybePromise<readonly RouteReach[]>;
  /** A route of the state as it is followed. Throws CREDENTIAL_UNAVAILABLE where the vault does not open its token. */
  open(stored: StoredRoute): InboundRoute;
}

/** Where a route leads, and with which credential. */
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
    const { tenantId, prefix, keyId } = stored;
    const { agent, ...settings } = routeSettings.parse(withToken(stored));
    const route = Object.freeze({ prefix, tenantId, keyId, agentId: agent, ...settings });
    opened.set(stored, route);
    return route;
  }

  function withToken(stored: StoredRoute): Readonly<Record<string, unknown>> {
    const { document, prefix, sealedToken } = stored;
    if (sealedToken === null) return document;
    const value = vault.open(tokenPlace(stored), sealedToken);
    if (value !== undefined) return { ...document, auth: { ...Object(document['auth']), value } };
    throw new GatewayError(
      'CREDENTIAL_UNAVAILABLE',
      `The token of the route ${prefix} cannot be opened with the key of the vault.`,
    );
  }

  function amongStored(tenantId: string, prefix: string): MaybePromise<InboundRoute | undefined> {
    return then(store.routesOf(tenantId), (all) => {
      const stored = all.get(prefix);
      return stored && open(stored);
    });
  }

  return {
    open,
    find(prefix) {
      const written = inbound.get(prefix);
      if (written) return written;
      return then(store.routeOwner(prefix), (it) => (it === undefined ? undefined : amongStored(it, prefix)));
    },
    stands(route) {
      if (inbound.get(route.prefix) === route) return true;
      return then(amongStored(route.tenantId, route.prefix), (it) => it === route);
    },
    storedOf: (tenantId) =>
      then(store.routesOf(tenantId), (all) => {
        const known = lists.get(all);
        if (known) return known;
        const list = [...all.values()].filter((it) => !inbound.has(it.prefix)).map(reachOf);
        lists.set(all, list);
        return list;
      }),
  };
}

/** Without what its callers show: that need not be opened for this. */
function reachOf({ tenantId, document }: StoredRoute): RouteReach {
  const { credential, upstream } = routeSettings.parse({ ...document, auth: 'key' });
  return { tenantId, credential, upstream };
}

/** At once where nothing has to be waited for. */
function then<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
