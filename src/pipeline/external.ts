import type { Call } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';

/**
 * Whether the call addresses somebody outside the organisation: a principal whose domain or account is not the tenant's own;
 * without principals, a host that is neither internal nor a known tool's.
 */
export function isExternal(call: Call, tenant: TenantConfig): boolean {
  const { operation, target } = call;
  if (operation && operation.principals.length > 0) {
    return operation.principals.some((principal) => !isOwn(principal, tenant));
  }
  if (operation && operation.toolName !== 'custom_proxy') return false;
  return (
    !isWithin(target.host, tenant.orgDomains) &&
    !tenant.internal.hosts.some((glob) => matchesHost(glob, target.host))
  );
}

function isOwn(principal: string, tenant: TenantConfig): boolean {
  const at = principal.lastIndexOf('@');
  if (at >= 0) return isWithin(principal.slice(at + 1).toLowerCase(), tenant.orgDomains);
  return Object.values(tenant.orgAccounts).some((own) => own.includes(principal));
}

const isWithin = (host: string, domains: readonly string[]): boolean =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`));

const matchesHost = (glob: string, host: string): boolean =>
  glob.startsWith('*.') ? host.endsWith(glob.slice(1)) : glob === host;
