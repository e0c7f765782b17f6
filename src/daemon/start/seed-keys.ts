import { ConfigError } from '../../config/load.ts';
import type { Config, InboundRoute, KeyConfig } from '../../config/schema.ts';
import { derivedId } from '../../core/ids.ts';
import { keyDigest, peppered } from '../../core/key-text.ts';
import type { Log } from '../../core/log.ts';
import { ownName } from '../../core/safe-name.ts';
import type { Keyless } from '../../credentials/keyless.ts';
import {
  type KeylessAgent,
  keylessAgentOf,
  keylessKeyPrefix,
  routeKeyPrefix,
} from '../../credentials/keyless.ts';
import { liveKey } from '../../state/rules/live-key.ts';
import type { AuditEvent, KeyChange, KeyRecord, Store } from '../../state/store.ts';
import { eachInSlices, Pace } from '../../util/pace.ts';
import { inGroups } from '../in-groups.ts';

/** The number of keys of a page, which is read in one go. */
const pageSize = 50;

interface SeedKeysOptions {
  readonly pepper: Buffer;
  readonly log: Log;
  /** Ids of agents that belong to other tenants than the configuration says. */
  readonly ofOthers: ReadonlySet<string>;
  /** Tells whether calls are served meanwhile. */
  readonly hasCalls: boolean;
}

/**
 * Makes the state agree with the keys of the configuration: new keys are added, changed ones changed, and
 * removed ones revoked. A key that was revoked stays so, even when it is written down again.
 *
 * The configuration that was read last is taken for the newest, so nodes that share a state must not be
 * started with an older one. A file that does not know a key yet looks like one that knows it no more, and a
 * removed key must not outlive its removal.
 *
 * Returns whether any tenant of the configuration has a valid key afterwards.
 */
export async function seedKeys(
  store: Store,
  config: Config,
  { pepper, log, ofOthers, hasCalls }: SeedKeysOptions,
): Promise<boolean> {
  const nowMs = Date.now();
  const terms = { pepper, nowMs, envOf: await createEnvOf(config) };
  const ids = new Set<string>();
  const seed = async (key: KeyRecord): Promise<void> => {
    ids.add(key.keyId);
    const about = { key_id: key.keyId, name: ownName(key.name) };
    if (ofOthers.has(key.agentId)) {
      log.error(about, 'a key whose agent belongs to another tenant is left out');
      return;
    }
    const standing = await store.keyById(key.tenantId, key.keyId);
    if (!standing) await add(store, config, key);
    else if (standing.agentId !== key.agentId || standing.envName !== key.envName)
      throw refusal(
        config,
        `the key "${key.name}" was made for another agent or environment; make a new one`,
      );
    else if (standing.revokedAtMs !== null) log.warn(about, 'a revoked key');
    else await update(store, standing, key, nowMs);
  };
  await inGroups(keysOf(config, terms), seed, hasCalls);
  let hasKeys = false;
  for (const tenantId of config.tenants.keys())
    if (await revokeOthers(store, tenantId, ids, nowMs, log)) hasKeys = true;
  return hasKeys;
}

type RouteName = Pick<InboundRoute, 'tenantId' | 'prefix' | 'keyId'>;

/** Returns the digest of a route's own key. No text of a key has it, so nobody can present one. */
const routeDigest = ({ tenantId, prefix, keyId }: RouteName): string =>
  keyDigest(`inbound ${tenantId} ${prefix}${keyId ? ` ${keyId}` : ''}`);

/** Returns the key that stands for the callers of an inbound route who have no key of the gateway. */
export const routeKey = (route: RouteName, pepper: Buffer) => ({
  prefix: routeKeyPrefix,
  hash: peppered(routeDigest(route), pepper),
});

/** Returns the digest of the keyless agent's key; another agent has another key. */
const keylessDigest = ({ tenantId, agentId, envName }: KeylessAgent): string =>
  keyDigest(`no key ${tenantId} ${agentId} ${envName}`);

/**
 * Returns the key that stands for callers of the forward proxy without one; undefined where every call needs
 * a key.
 */
export function keylessOf(config: Config, pepper: Buffer): Keyless | undefined {
  const agent = keylessAgentOf(config);
  if (!agent) return undefined;
  const key = { prefix: keylessKeyPrefix, hash: peppered(keylessDigest(agent), pepper) };
  return { key, tenantId: agent.tenantId };
}

/** Adds a key unless the state has it; one that was revoked stays revoked. */
export async function addOnce(store: Store, key: KeyRecord, operator: string): Promise<void> {
  if (await store.keyById(key.tenantId, key.keyId)) return;
  await store.addKey(key, {
    ...eventOf(key, 'key.created', key.createdAtMs, operator),
    details: { prefix: key.prefix, name: key.name, agent_id: key.agentId },
  });
}

async function add(store: Store, config: Config, key: KeyRecord): Promise<void> {
  try {
    await addOnce(store, key, 'config');
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'NOT_FOUND')
      throw refusal(config, `the agent of the key "${key.name}" stands neither in agents: nor in the state`);
    // The hash is taken: the key was minted, or belongs to another tenant.
    if (code !== 'CONFLICT') throw error;
    throw refusal(config, `the key "${key.name}" is known to the state as another one`);
  }
}

async function update(store: Store, standing: KeyRecord, key: KeyRecord, nowMs: number): Promise<void> {
  const wanted = {
    name: key.name,
    description: key.description,
    permissions: key.permissions,
    ipAllowlist: key.ipAllowlist,
    expiresAtMs: key.expiresAtMs,
  } satisfies KeyChange;
  const fields = Object.keys(wanted) as (keyof typeof wanted)[];
  const changed = fields.filter((it) => JSON.stringify(standing[it]) !== JSON.stringify(wanted[it]));
  if (changed.length === 0) return;
  const event = { ...eventOf(key, 'key.updated', nowMs, 'config'), details: { changed } };
  await store.updateKey(key.tenantId, key.keyId, wanted, event);
}

/**
 * Revokes the keys of the configuration that are not among `ids`. Returns whether the tenant has a valid key
 * left.
 */
async function revokeOthers(
  store: Store,
  tenantId: string,
  ids: ReadonlySet<string>,
  nowMs: number,
  log: Log,
): Promise<boolean> {
  const pace = new Pace();
  let isAnyValid = false;
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await store.listKeys(tenantId, { limit: pageSize, cursor });
    for (const key of items) {
      if (key.revokedAtMs !== null) continue;
      if (!key.isFromConfig || ids.has(key.keyId)) {
        isAnyValid ||= key.expiresAtMs === null || key.expiresAtMs > nowMs;
        continue;
      }
      await store.revokeKey(tenantId, key.keyId, eventOf(key, 'key.revoked', nowMs, 'config'));
      log.warn(
        { key_id: key.keyId, name: ownName(key.name) },
        'a key that the configuration has no more is revoked',
      );
    }
    cursor = nextCursor ?? undefined;
    if (pace.isDue()) await pace.turn();
  } while (cursor !== undefined);
  return isAnyValid;
}

const eventOf = (key: KeyRecord, kind: string, atMs: number, operator: string): AuditEvent => ({
  tenantId: key.tenantId,
  atMs,
  kind,
  operator,
  subject: key.keyId,
  details: { prefix: key.prefix },
});

const refusal = (config: Config, message: string): ConfigError =>
  new ConfigError(config.file, [{ path: 'keys', line: undefined, message }]);

/** The common terms of all key records. */
interface KeyTerms {
  readonly pepper: Buffer;
  readonly nowMs: number;
  readonly envOf: (tenantId: string, agentId: string) => string;
}

/** Makes the records one by one: thousands of them at once would be copied by each collection of garbage. */
function* keysOf(config: Config, terms: KeyTerms): Generator<KeyRecord> {
  for (const it of config.keys) yield fromConfig(it, terms);
  for (const it of config.inbound.values()) yield* ofRoute(it, terms);
  yield* ofKeyless(config, terms);
}

/**
 * Returns the record of a configured key, of which only the digest is known. Its id follows from the digest;
 * `config` stands for its prefix.
 */
function fromConfig(key: KeyConfig, { pepper, nowMs, envOf }: KeyTerms): KeyRecord {
  const { hash, tenantId, agentId, name, description, permissions, ipAllowlist, expiresAtMs } = key;
  return liveKey({
    keyId: derivedId(hash),
    hash: peppered(hash, pepper),
    prefix: 'config',
    tenantId,
    envName: key.envName ?? envOf(tenantId, agentId),
    agentId,
    name,
    description,
    permissions,
    ipAllowlist,
    createdAtMs: nowMs,
    expiresAtMs,
    isFromConfig: true,
  });
}

/**
 * Returns the key of a route whose callers have none, else no key. With it the state counts and limits their
 * calls like others.
 */
function ofRoute(route: InboundRoute, { pepper, nowMs, envOf }: KeyTerms): KeyRecord[] {
  const { tenantId, agentId, prefix, auth } = route;
  if (auth.type === 'key' || agentId === null) return [];
  return [
    liveKey({
      ...routeKey(route, pepper),
      keyId: derivedId(routeDigest(route)),
      tenantId,
      envName: envOf(tenantId, agentId),
      agentId,
      name: `inbound ${prefix}`,
      permissions: ['scan'],
      createdAtMs: nowMs,
      isFromConfig: true,
    }),
  ];
}

/**
 * Returns the key that stands for callers without one; none where every call needs a key. It does not count
 * as a key of the configuration: such a key is revoked for good when the file drops it. This one must be
 * there again when `proxy.require_auth` is set back. Meanwhile nobody can present it.
 */
function ofKeyless(config: Config, { pepper, nowMs }: KeyTerms): KeyRecord[] {
  const [agent, keyless] = [keylessAgentOf(config), keylessOf(config, pepper)];
  if (!agent || !keyless) return [];
  const { tenantId, agentId, envName, name } = agent;
  return [
    liveKey({
      ...keyless.key,
      keyId: derivedId(keylessDigest(agent)),
      tenantId,
      envName,
      agentId,
      name,
      permissions: ['scan'],
      createdAtMs: nowMs,
    }),
  ];
}

/** Returns what tells the environment of an agent's keys. */
async function createEnvOf({ agents, tenants }: Config): Promise<KeyTerms['envOf']> {
  const byId = new Map<string, string>();
  await eachInSlices(agents, (it) => byId.set(it.id, it.envName));
  return (tenantId, agentId) => byId.get(agentId) ?? tenants.get(tenantId)?.environments[0] ?? 'default';
}
