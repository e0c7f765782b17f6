import { type Call, type Operation, operationAndParts, type Resource } from '../call.ts';
import type { TenantConfig } from '../config/schema.ts';
import type { Target } from '../target.ts';
import { type HostMatcher, toHostMatcher } from '../upstream/host-glob.ts';

/**
 * Whether the call addresses somebody outside the organisation: a principal whose domain or account is not the tenant's own;
 * without principals, a host that is neither internal nor a known tool's.
 */
export function isExternal(
  { principals, toolName }: Pick<Operation, 'principals' | 'toolName'>,
  target: Target,
  tenant: TenantConfig,
): boolean {
  if (principals.length > 0) return principals.some((principal) => !isOwn(principal, toolName, tenant));
  if (toolName !== 'custom_proxy') return false;
  return !isOwnHost(target.host, tenant);
}

/** The same of all that the call does. */
export const addressesOutside = ({ operation, target }: Call, tenant: TenantConfig): boolean =>
  operation !== undefined &&
  (isExternal(operation, target, tenant) ||
    (operation.parts?.some((it) => isExternal(it.operation, it.target ?? target, tenant)) ?? false));

/** Whether what the call carries leaves the organisation: it addresses somebody outside, or lays it where others read. */
export const goesOutside = (call: Call, tenant: TenantConfig): boolean =>
  call.isExternal || isForOthers(call, tenant);

/**
 * Whether it lays what it carries where others read: in an account of its tool that is not the tenant's own, where it is known which ones
 * are, or where everybody can.
 */
export const isForOthers = ({ operation }: Call, tenant: TenantConfig): boolean =>
  operation !== undefined &&
  operationAndParts(operation).some((it) => it.isPublic === true || isForeignAccount(it, tenant));

/** Where content lies: on many hosts the account says more than the host, and what lies in another one lies with somebody else. */
export interface Place {
  readonly host: string;
  /** Organisation, account or bucket, in lower case; undefined where there is none. */
  readonly account: string | undefined;
}

/** The place that a call acts on; undefined where nobody can tell, or it is not one. */
export function placeOf({ operation, target: { host } }: Call): Place | undefined {
  const all = operation ? operationAndParts(operation) : [];
  const accounts = new Set(
    all.map(({ resource }) => (resource.bucket ?? accountOf(resource))?.toLowerCase()),
  );
  const isClear = all.every((it) => it.unclear === undefined && it.resource.unknown === undefined);
  return isClear && accounts.size === 1 ? { host, account: [...accounts][0] } : undefined;
}

const accountOf = ({ org, repo, account }: Resource): string | undefined =>
  org ?? repo?.split('/')[0] ?? account;

function isForeignAccount(
  { toolName, resource }: Pick<Operation, 'toolName' | 'resource'>,
  { orgAccounts }: TenantConfig,
): boolean {
  const own = orgAccounts[toolName];
  if (own === undefined) return false;
  const account = accountOf(resource)?.toLowerCase();
  // An account that the call names in a way that nobody can read here is not known to be the tenant's.
  if (account === undefined) return accountFields.some((it) => resource.unknown?.includes(it));
  return !own.some((it) => it.toLowerCase() === account);
}

const accountFields = ['org', 'repo', 'account'] as const;

/** Servers may take another one of several domains than we do, and end a name at a sign that is none of it. */
const plainAddress = /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u;

function isOwn(principal: string, toolName: string, tenant: TenantConfig): boolean {
  const at = principal.lastIndexOf('@');
  if (at >= 0)
    return plainAddress.test(principal) && isWithin(principal.slice(at + 1).toLowerCase(), tenant.orgDomains);
  // The host of a webhook, or a domain with which something is shared. Where logins are principals, they have no dots.
  if (principal.includes('.') && isOwnHost(principal.toLowerCase(), tenant)) return true;
  const { [toolName]: ofTool, ...ofOthers } = tenant.orgAccounts;
  const own = ofTool ?? Object.values(ofOthers).flat();
  return own.some((it) => it.toLowerCase() === principal.toLowerCase());
}

/** Whether the host is one of the tenant's own. */
export const isOwnHost = (
  host: string,
  { orgDomains, internal }: Pick<TenantConfig, 'orgDomains' | 'internal'>,
): boolean => isWithin(host, orgDomains) || matchersOf(internal.hosts).some((matches) => matches(host));

const isWithin = (host: string, domains: readonly string[]): boolean =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`));

const matchersOfGlobs = new WeakMap<readonly string[], readonly HostMatcher[]>();

/** A list of the configuration never changes, so it is compiled once. */
function matchersOf(globs: readonly string[]): readonly HostMatcher[] {
  let matchers = matchersOfGlobs.get(globs);
  if (!matchers) {
    matchers = globs.map(toHostMatcher);
    matchersOfGlobs.set(globs, matchers);
  }
  return matchers;
}
