import type { Config } from '../config/schema.ts';
import { isOwnHost } from '../tenants/external.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { isWithin } from '../util/addresses.ts';
import { toHostMatcher } from '../wire/client/reach/host-glob.ts';

/**
 * Tells whether the operator runs the server behind a host, before a name is resolved. That is so where
 * `upstream.resolve` has the host or `upstream.allow_private` has its address. It is also so where the host
 * is in the tenant's `org_domains` or `internal.hosts`.
 */
export type IsOwnUpstream = (tenantId: string, host: string) => boolean;

export function createOwnUpstream(
  { resolve, allowPrivate }: Config['upstream'],
  tenants: Pick<Tenants, 'find'>,
): IsOwnUpstream {
  const replaced = resolve.map(({ host }) => toHostMatcher(host));
  return (tenantId, host) => {
    if (replaced.some((matches) => matches(host)) || isWithin(allowPrivate, host)) return true;
    const tenant = tenants.find(tenantId);
    return tenant !== undefined && isOwnHost(host, tenant);
  };
}
