import { BlockList, isIP } from 'node:net';
import type { AgentStatus, Identity } from '../../core/call.ts';
import { ownName, type SafeName, safely } from '../../core/safe-name.ts';
import { kept } from '../../util/kept.ts';
import type {
  AdmitRequest,
  AgentRecord,
  Identification,
  InvalidKey,
  KeyRecord,
  NotAdmitted,
} from '../store.ts';
import { isFromWrongClock } from './clock-skew.ts';

/*
 * Judges a call by its records, before any number is looked at. It is pure, and the same for every driver. A
 * driver fetches the records and asks here. It then takes from quota, buckets and uses in one atomic step,
 * which also makes sure that these records still stand.
 */

/** The records behind a key. */
export interface Holder {
  readonly key: KeyRecord;
  /** The live key that an ephemeral key was made with; undefined for a live key, or where it is missing. */
  readonly parent: KeyRecord | undefined;
  /** The agent of the key. */
  readonly agent: AgentRecord;
  readonly isTenantSuspended: boolean;
}

/** Returns why the key itself is not valid at a time; undefined where it is valid. */
function whyInvalid({ key, parent }: Holder, nowMs: number): InvalidKey | undefined {
  if (key.revokedAtMs !== null) return revoked;
  if (key.expiresAtMs !== null && nowMs >= key.expiresAtMs) return expired;
  if (key.parentKeyId === null) return undefined;
  // A clock that is set back must not make a short life longer.
  if (isFromWrongClock(key.createdAtMs, nowMs)) return expired;
  if (!parent || parent.revokedAtMs !== null) return parentRevoked;
  return parent.expiresAtMs !== null && nowMs >= parent.expiresAtMs ? parentExpired : undefined;
}

const invalidKey = (why: InvalidKey['why'], detail: string): InvalidKey =>
  Object.freeze({ ok: false, code: 'INVALID_KEY', why, detail });

export const unknownKey = invalidKey('unknown', 'The key is not known.');
const revoked = invalidKey('revoked', 'The key is revoked.');
const expired = invalidKey('expired', 'The key has expired.');
const parentRevoked = invalidKey('revoked', 'The key that this one was made with is revoked.');
const parentExpired = invalidKey('expired', 'The key that this one was made with has expired.');

/**
 * Returns whose key this is, in its own environment and with its own agent. It counts nothing and checks
 * nothing but the key.
 */
export function identifyHolder(holder: Holder, nowMs: number): Identification {
  const why = whyInvalid(holder, nowMs);
  if (why !== undefined) return why;
  return {
    ok: true,
    key: holder.key,
    parent: holder.parent,
    identity: identityOf(holder.key, holder.agent),
    agentStatus: statusOf(holder, holder.agent),
  };
}

const identities = new WeakMap<KeyRecord, { agent: AgentRecord; identity: Identity }>();

/** Returns the identity of a key with its own agent. It is made once, since every call asks for it. */
function identityOf(key: KeyRecord, agent: AgentRecord): Identity {
  const known = identities.get(key);
  if (known?.agent === agent) return known.identity;
  const identity: Identity = {
    keyId: key.keyId,
    keyPrefix: key.prefix,
    tenantId: key.tenantId,
    envName: key.envName,
    agentId: agent.agentId,
    agentName: agent.name,
    ownAgent: agent,
    permissions: new Set(key.permissions),
  };
  identities.set(key, { agent, identity });
  return identity;
}

/** The answer to a call that has passed, and whose numbers are looked at next. */
export interface Examined {
  readonly ok: true;
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  readonly scopeViolations: readonly SafeName[];
}

/**
 * Checks everything that is no number. `named` is the record of the agent that the call names, where that is
 * not the key's own; undefined where it is unknown. The first thing that is wrong is answered: key, tenant,
 * address, tenant of the agent, environment, permission, unknown agent.
 */
export function examine(
  holder: Holder,
  named: AgentRecord | undefined,
  request: AdmitRequest,
): Examined | NotAdmitted {
  const { key, agent: own } = holder;
  const why = whyInvalid(holder, request.nowMs);
  if (why !== undefined) return { ...why, identity: identityOf(key, own) };
  const identity = identityOf(key, own);
  const refuse = (code: NotAdmitted['code'], detail: string): NotAdmitted => ({
    ok: false,
    code,
    detail,
    identity,
  });
  if (!request.termsOf(key.tenantId))
    return refuse('INVALID_KEY', 'The key is not valid: its tenant is not served here.');
  if (!isAddressAllowed(holder, request.clientAddress))
    return refuse(
      'IP_NOT_ALLOWED',
      'The address that the call comes from is not on the allowlist of the key.',
    );
  const isOwn = request.agentId === undefined || request.agentId === own.agentId;
  const agent = isOwn ? own : named;
  if (agent && agent.tenantId !== key.tenantId)
    return refuse('CROSS_TENANT', 'The agent belongs to another tenant than the key.');
  const mayName = (envName: string): boolean => mayNameEnvironment(key, envName);
  if (agent && !isOwn && !mayName(agent.envName))
    return refuse('CROSS_ENVIRONMENT', 'The agent belongs to an environment that the key may not name.');
  const envName = request.envName ?? (isOwn || !agent ? key.envName : agent.envName);
  if (!mayName(envName)) return refuse('CROSS_ENVIRONMENT', 'The key may not be used in this environment.');
  if (!identity.permissions.has('scan') && !identity.permissions.has('admin'))
    return refuse('FORBIDDEN', 'The key lacks the permission "scan".');
  // This check comes last, since the caller may then add the agent.
  if (!agent) return refuse('UNKNOWN_AGENT', 'The agent is not known.');
  return {
    ok: true,
    identity:
      isOwn && envName === key.envName
        ? identity
        : { ...identity, envName, agentId: agent.agentId, agentName: agent.name },
    agentStatus: statusOf(holder, agent),
    scopeViolations: scopeViolationsOf(key, request),
  };
}

/** Tells whether the key may speak for agents of this environment. */
export const mayNameEnvironment = (
  { envName: own, envNames }: Pick<KeyRecord, 'envName' | 'envNames'>,
  envName: string,
): boolean => envName === own || envNames.includes(envName);

/**
 * Returns the status of the agent that a call names. A suspended agent cannot act as another one by naming
 * it. Nor can any agent of a suspended tenant. The suspension of the agent itself comes first, since that of
 * the tenant stops only calls.
 */
function statusOf({ agent: own, isTenantSuspended }: Holder, agent: AgentRecord): AgentStatus {
  if (own.status === 'suspended') return 'suspended';
  return isTenantSuspended ? 'tenant-suspended' : agent.status;
}

const noViolations: readonly SafeName[] = [];

/** Returns sentences that say how a call leaves the scope of the key; none where it does not. */
export function scopeViolationsOf(
  { scope }: KeyRecord,
  request: Pick<AdmitRequest, 'toolName' | 'verb' | 'parts'>,
): readonly SafeName[] {
  if (scope === null) return noViolations;
  const found = new Set<SafeName>();
  for (const { toolName, verb } of [request, ...(request.parts ?? [])]) {
    if (scope.tools !== null && !scope.tools.includes(toolName))
      found.add(safely`The key may not be used with the tool ${toolName}.`);
    if (scope.verbs !== null && !scope.verbs.includes(verb))
      found.add(safely`The key may not be used for calls of the class ${ownName(verb)}.`);
  }
  return [...found];
}

/**
 * The compiled allowlist of a key. It has two lists, as one BlockList takes IPv4 addresses for mapped ones
 * and finds them in IPv6 ranges.
 */
interface Allowlist {
  /** The IPv4 ranges, and ranges of IPv4-mapped addresses. */
  readonly ipv4: BlockList;
  readonly ipv6: BlockList;
}

const compiled = new WeakMap<KeyRecord, Allowlist>();

/**
 * Tells whether the address is on the allowlist of the key and on that of its parent, where they have one.
 * Text that is no address is on none. An IPv4-mapped IPv6 address counts as the IPv4 address that it stands
 * for, and is in no other IPv6 range.
 */
export const isAddressAllowed = (
  { key, parent }: Pick<Holder, 'key' | 'parent'>,
  clientAddress: string,
): boolean => allows(key, clientAddress) && (parent === undefined || allows(parent, clientAddress));

function allows(key: KeyRecord, clientAddress: string): boolean {
  const { ipAllowlist } = key;
  if (ipAllowlist === null) return true;
  const family = isIP(clientAddress);
  if (family === 0) return false;
  // People write this range for "from anywhere", so it covers IPv6, too.
  if (ipAllowlist.includes('0.0.0.0/0')) return true;
  const list = kept(compiled, key, () => compile(ipAllowlist));
  return listFor(list, clientAddress).check(clientAddress, typeOf(clientAddress));
}

function compile(ranges: readonly string[]): Allowlist {
  const list = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const type = typeOf(address);
    if (bits === undefined) listFor(list, address).addAddress(address, type);
    else if (type === 'ipv6' && Number(bits) < mappedBits) list.ipv6.addSubnet(address, Number(bits), type);
    else listFor(list, address).addSubnet(address, Number(bits), type);
  }
  return list;
}

const mappedBits = 96;
const mapped = new BlockList();
mapped.addSubnet('::ffff:0:0', mappedBits, 'ipv6');

const typeOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Returns the list that the address belongs to. */
const listFor = (list: Allowlist, address: string): BlockList =>
  mapped.check(address, typeOf(address)) ? list.ipv4 : list.ipv6;
