import type { TenantConfig } from '../config/schema.ts';
import { type ClassifiedCall, type Operation, operationAndParts, type Resource } from '../core/call.ts';
import type { Target } from '../core/target.ts';
import { kept } from '../util/kept.ts';
import { type HostMatcher, toHostMatcher } from '../wire/client/reach/host-glob.ts';

type Addressing = Pick<Operation, 'principals' | 'toolName' | 'verb' | 'resource' | 'owners' | 'isPublic'>;

/**
 * Tells whether an operation addresses somebody outside the organisation. It does where it addresses the
 * public, or a principal whose domain or account is not the tenant's own. Where the tenant lists its
 * accounts, it also does where it changes something of an account that is not listed. Without a principal the
 * host decides: it is outside where it is neither internal nor a known tool's.
 */
export function isExternal(operation: Addressing, target: Target, tenant: TenantConfig): boolean {
  const { principals, toolName } = operation;
  if (operation.isPublic || changesForeign(operation, tenant)) return true;
  if (principals.length > 0) return principals.some((it) => !isOwn(it, operation, tenant));
  return toolName === 'custom_proxy' && !isOwnHost(target.host, tenant);
}

/** Tells whether any operation of the call addresses somebody outside: see `isExternal`. */
export const addressesOutside = ({ operation, target }: ClassifiedCall, tenant: TenantConfig): boolean =>
  isExternal(operation, target, tenant) ||
  (operation.parts?.some((it) => isExternal(it.operation, it.target ?? target, tenant)) ?? false);

/**
 * Tells whether a call puts its content where others read it: in a foreign account of its tool, or where the
 * public can.
 */
export const isForOthers = ({ operation }: ClassifiedCall, tenant: TenantConfig): boolean =>
  operationAndParts(operation).some((it) => it.isPublic === true || isForeignAccount(it, tenant));

/** The place where content lies. On many hosts the account says more than the host. */
export interface ContentPlace {
  readonly host: string;
  /** Organisation, account or bucket, in lower case; undefined where there is none. */
  readonly account: string | undefined;
}

/** Returns the place that a call acts on; undefined where it acts on several, or where nobody can tell. */
export function contentPlaceOf({ operation, target: { host } }: ClassifiedCall): ContentPlace | undefined {
  const all = operationAndParts(operation);
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
  const own = listedIn(orgAccounts[toolName]);
  if (own.accounts.size === 0) return false;
  const account = accountOf(resource);
  // An account that the call names in a way that nobody can read here is not known to be the tenant's.
  if (account === undefined) return accountFields.some((it) => resource.unknown?.includes(it));
  return !account.split(',').every((it) => isListed(it, own));
}

/**
 * Tells whether an operation changes a known account that the tenant does not list, where it lists any for
 * the tool. Reading changes nothing. An unknown account counts as the tenant's own.
 */
function changesForeign(
  { toolName, verb, resource, owners }: Addressing,
  { orgAccounts, orgDomains }: TenantConfig,
): boolean {
  if (verb === 'READ') return false;
  const own = listedIn(orgAccounts[toolName]);
  const told = owners ?? (resource.org ?? resource.repo?.split('/')[0])?.split(',') ?? [];
  if (own.accounts.size > 0 && !told.every((it) => isOwnAccount(it, own, orgDomains))) return true;
  if (own.buckets.length === 0 || resource.bucket === undefined) return false;
  return !resource.bucket.split(',').every((bucket) => own.buckets.some((it) => isSameBucket(it, bucket)));
}

/** The tenant's own accounts and buckets in one tool. Other entries of the list are phone numbers. */
interface Listed {
  /** The accounts in lower case. */
  readonly accounts: ReadonlySet<string>;
  readonly buckets: readonly string[];
}

/**
 * The beginning of an entry that lists buckets, such as `bucket:acme-*`. The name of a bucket does not tell
 * whose it is.
 */
const bucketEntry = 'bucket:';
const noList: readonly string[] = Object.freeze([]);
const lists = new WeakMap<readonly string[], Listed>();

/** Returns the entries of a list by kind. A list is read once, so it must not change. */
const listedIn = (entries: readonly string[] = noList): Listed =>
  kept(lists, entries, () => {
    const buckets = entries.filter((it) => it.startsWith(bucketEntry));
    const accounts = entries.filter((it) => !it.startsWith(bucketEntry) && phoneNumberOf(it) === undefined);
    return {
      accounts: new Set(accounts.map((it) => it.toLowerCase())),
      buckets: buckets.map((it) => it.slice(bucketEntry.length)),
    };
  });

const isSameBucket = (listed: string, bucket: string): boolean =>
  listed.endsWith('*') ? bucket.startsWith(listed.slice(0, -1)) : bucket === listed;

/**
 * Tells whether an account is the tenant's own. `group@tenant` is, where `tenant` is listed, and so is an
 * address of the tenant's domains.
 */
function isOwnAccount(account: string, own: Listed, orgDomains: readonly string[]): boolean {
  if (isListed(account, own)) return true;
  const of = account.slice(account.lastIndexOf('@') + 1).toLowerCase();
  return of.length < account.length && (isListed(of, own) || isWithin(of, orgDomains));
}

/** Tells whether an account is listed, or lies below a listed one, as the groups of a group do. */
function isListed(account: string, { accounts }: Listed): boolean {
  const text = account.toLowerCase();
  for (let end = text.length; end > 0; end = text.lastIndexOf('/', end - 1))
    if (accounts.has(text.slice(0, end))) return true;
  return false;
}

const accountFields = ['org', 'repo', 'account'] as const;

/** The mark of a guest in a directory of Microsoft: `eve_example.net#EXT#@acme.onmicrosoft.com`. */
const guestName = /#EXT#/i;

const phoneNumber = /^(?:(?:whatsapp|sms|tel|messenger):)?\+[\d\s().-]{5,24}$/i;

/**
 * Returns the digits of a phone number with its country, as `org_accounts` lists them; undefined for other
 * text.
 */
const phoneNumberOf = (text: string): string | undefined =>
  phoneNumber.test(text) ? text.replace(/\D/g, '') : undefined;

/**
 * A mail address with one `@`, no space and no control character. In other texts a server may take another
 * domain than the gateway does, or end the name earlier.
 */
const plainAddress = /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u;

function isOwn(principal: string, { toolName, owners }: Addressing, tenant: TenantConfig): boolean {
  const number = phoneNumberOf(principal);
  if (number !== undefined)
    return Object.values(tenant.orgAccounts).some((own) => own.some((it) => phoneNumberOf(it) === number));
  const at = principal.lastIndexOf('@');
  if (at >= 0)
    return (
      plainAddress.test(principal) &&
      !guestName.test(principal) &&
      isWithin(principal.slice(at + 1).toLowerCase(), tenant.orgDomains)
    );
  // An owner gets what it has already. Where the call changes something, `changesForeign` has asked whose the
  // owner is.
  if (owners?.includes(principal)) return true;
  // A name with a dot is the host of a webhook, or a domain with which something is shared. Where logins are
  // principals, they have no dots.
  if (principal.includes('.') && isOwnHost(principal.toLowerCase(), tenant)) return true;
  const { [toolName]: ofTool, ...ofOthers } = tenant.orgAccounts;
  const own = ofTool ?? Object.values(ofOthers).flat();
  return own.some((it) => it.toLowerCase() === principal.toLowerCase());
}

/** Tells whether the host is one of the tenant's own. */
export const isOwnHost = (
  host: string,
  { orgDomains, internal }: Pick<TenantConfig, 'orgDomains' | 'internal'>,
): boolean => isWithin(host, orgDomains) || matchersOf(internal.hosts).some((matches) => matches(host));

const isWithin = (host: string, domains: readonly string[]): boolean =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`));

const matchersOfGlobs = new WeakMap<readonly string[], readonly HostMatcher[]>();

/** Returns the compiled globs. A list of the configuration never changes, so it is compiled once. */
const matchersOf = (globs: readonly string[]): readonly HostMatcher[] =>
  kept(matchersOfGlobs, globs, () => globs.map(toHostMatcher));
