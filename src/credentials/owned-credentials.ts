import type { Config } from '../config/schema.ts';
import { parseTarget } from '../core/target.ts';
import { type Cache, createCache } from '../state/cache.ts';
import { after, type MaybePromise } from '../util/maybe-promise.ts';
import type { Scrub } from '../wire/client/scrub/scrub.ts';
import { type CredentialEntry, ofVaultAlone, toEntry } from './credential-entry.ts';
import type { ReadyCredential } from './injection.ts';
import type { RouteBook, RouteReach } from './route-book.ts';

/** The credentials that a host may have got. */
export interface Near {
  readonly entries: readonly CredentialEntry[];
  /** The entries that could be sent when the last call went there, and what looks for their secrets. */
  ready: readonly ReadyCredential[];
  scrub: MaybePromise<Scrub> | undefined;
}

/** The credentials of a tenant: those of the file in their order, then those that only routes name. */
export interface Owned {
  readonly entries: readonly CredentialEntry[];
  near(host: string): Near;
}

/**
 * Bound on the hosts of a tenant whose credentials are kept. Hosts with the same credentials share an entry.
 */
const hostsMax = 4096;
const nearMax = 256;
const tenantsMax = 4096;
const none: readonly RouteReach[] = [];

/**
 * Finds the credentials of a tenant that its hosts may have got. Routes of the file and of the API count,
 * too.
 */
export function createOwnedCredentials(
  { credentials, inbound }: Pick<Config, 'credentials' | 'inbound'>,
  routes: Pick<RouteBook, 'storedOf'>,
) {
  const written = Map.groupBy(credentials, (it) => it.tenantId);
  const writtenRoutes = Map.groupBy(inbound.values(), (it) => it.tenantId);
  const entries = new Map([...written].map(([tenantId, own]) => [tenantId, own.map(toEntry)]));
  const ofFile = new Map<string, Owned>();
  for (const tenantId of new Set([...written.keys(), ...writtenRoutes.keys()])) {
    const owned = toOwned(tenantId, none);
    if (owned) ofFile.set(tenantId, owned);
  }
  const withStored = createCache<{
    readonly stored: readonly RouteReach[];
    readonly owned: Owned | undefined;
  }>(tenantsMax);

  function toOwned(tenantId: string, stored: readonly RouteReach[], before?: Owned): Owned | undefined {
    const own = entries.get(tenantId) ?? [];
    const reached = hostsReached([...(writtenRoutes.get(tenantId) ?? []), ...stored]);
    const names = new Set(own.map((it) => it.name));
    const others = [...reached.keys()].filter((name) => !names.has(name));
    if (own.length + others.length === 0) return undefined;
    // The entry stays the same, because what was fetched with it is kept with it.
    const again = (name: string): CredentialEntry | undefined =>
      before?.entries.find((it) => it.name === name);
    const all = [...own, ...others.map((name) => again(name) ?? ofVaultAlone(name))];
    return new OwnedByTenant(all, reached);
  }

  return {
    /**
     * Returns the credentials that the file or its routes name, without those that only routes of the API
     * name.
     */
    ofFile: (tenantId: string) => ofFile.get(tenantId),
    /** Returns the credentials of a tenant; undefined where it has none. */
    of(tenantId: string) {
      const ownedWith = (list: readonly RouteReach[]): Owned | undefined => {
        if (list.length === 0) return ofFile.get(tenantId);
        const known = withStored.get(tenantId);
        if (known?.stored === list) return known.owned;
        const owned = toOwned(tenantId, list, known?.owned ?? ofFile.get(tenantId));
        withStored.set(tenantId, { stored: list, owned });
        return owned;
      };
      return after(routes.storedOf(tenantId), ownedWith);
    },
  };
}

function hostsReached(routes: readonly RouteReach[]): ReadonlyMap<string, ReadonlySet<string>> {
  const named = routes.filter((it) => it.credential !== null);
  const byName = Map.groupBy(named, (it) => it.credential ?? '');
  return new Map(
    [...byName].map(([name, own]) => [name, new Set(own.map((it) => parseTarget(it.upstream).host))]),
  );
}

class OwnedByTenant implements Owned {
  readonly entries: readonly CredentialEntry[];
  readonly #reached: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #byHost: Cache<Near> = createCache(hostsMax);
  readonly #byNames: Cache<Near> = createCache(nearMax);

  constructor(entries: readonly CredentialEntry[], reached: ReadonlyMap<string, ReadonlySet<string>>) {
    this.entries = entries;
    this.#reached = reached;
  }

  near(host: string): Near {
    const known = this.#byHost.get(host);
    if (known) return known;
    const reaching = this.entries.filter(
      (it) => it.mayReach(host) || this.#reached.get(it.name)?.has(host) === true,
    );
    const names = reaching.map((it) => it.name).join();
    const near = this.#byNames.get(names) ?? { entries: reaching, ready: [], scrub: undefined };
    this.#byNames.set(names, near);
    this.#byHost.set(host, near);
    return near;
  }
}
