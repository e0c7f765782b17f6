import { ConfigError } from '../config/load.ts';
import type { Config, InboundRoute, KeyConfig } from '../config/schema.ts';
import { keyDigest, peppered } from '../key-text.ts';
import type { Log } from '../log.ts';
import type { AuditEvent, KeyChange, KeyRecord, Store } from '../state/store.ts';

const pageSize = 1000;

/**
 * Makes the state agree with the keys of the configuration: new ones are added, changed ones changed, and those that were taken out of it
 * are revoked. A key that was revoked stays so, also when it is written down again.
 */
export async function seedKeys(store: Store, config: Config, pepper: Buffer, log: Log): Promise<void> {
  const nowMs = Date.now();
  const keys = [
    ...config.keys.map((it) => fromConfig(it, pepper, config, nowMs)),
    ...[...config.inbound.values()].flatMap((it) => ofRoute(it, pepper, config, nowMs)),
  ];
  for (const key of keys) {
    const standing = await store.keyById(key.tenantId, key.keyId);
    if (!standing) await add(store, config, key);
    else if (standing.agentId !== key.agentId || standing.envName !== key.envName)
      throw refusal(
        config,
        `the key "${key.name}" was made for another agent or environment; make a new one`,
      );
    else if (standing.revokedAtMs !== null) log.warn({ key_id: key.keyId, name: key.name }, 'a revoked key');
    else await update(store, standing, key, nowMs);
  }
  const ids = new Set(keys.map((it) => it.keyId));
  for (const tenantId of config.tenants.keys()) await revokeOthers(store, tenantId, ids, nowMs);
}

/** What the digest of a route's own key is made of: no text of a key has it, so nobody can present one. */
const routeDigest = ({ tenantId, prefix }: InboundRoute): string =>
  keyDigest(`inbound ${tenantId} ${prefix}`);

/** Stands for the callers of an inbound route who have no key of the gateway. */
export const routeKey = (route: InboundRoute, pepper: Buffer) => ({
  prefix: 'inbound',
  hash: peppered(routeDigest(route), pepper),
});

/** Adds a key unless it is there; one that was revoked stays revoked. */
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
    // The hash is taken: the key was minted, or belongs to another tenant.
    if ((error as { code?: unknown }).code !== 'CONFLICT') throw error;
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

async function revokeOthers(
  store: Store,
  tenantId: string,
  ids: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await store.listKeys(tenantId, { limit: pageSize, cursor });
    for (const key of items) {
      if (!key.isFromConfig || key.revokedAtMs !== null || ids.has(key.keyId)) continue;
      await store.revokeKey(tenantId, key.keyId, eventOf(key, 'key.revoked', nowMs, 'config'));
    }
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
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

const defaults = {
  type: 'live',
  envNames: [],
  revokedAtMs: null,
  revokedBy: null,
  perMinute: null,
  requireNonce: false,
  parentKeyId: null,
  maxUses: null,
  scope: null,
  isFromConfig: true,
} as const;

/** A key of which only the digest is known: its id follows from it, its prefix says so. */
function fromConfig(key: KeyConfig, pepper: Buffer, config: Config, nowMs: number): KeyRecord {
  const { hash, tenantId, agentId, name, description, permissions, ipAllowlist, expiresAtMs } = key;
  return {
    ...defaults,
    keyId: toId(hash),
    hash: peppered(hash, pepper),
    prefix: 'config',
    tenantId,
    envName: key.envName ?? envOf(config, tenantId, agentId),
    agentId,
    name,
    description,
    permissions,
    ipAllowlist,
    createdAtMs: nowMs,
    expiresAtMs,
  };
}

/** The key of a route whose callers have none: the state counts and limits its calls like those of any other. */
function ofRoute(route: InboundRoute, pepper: Buffer, config: Config, nowMs: number): KeyRecord[] {
  const { tenantId, agentId, prefix, auth } = route;
  if (auth.type === 'key' || agentId === null) return [];
  return [
    {
      ...defaults,
      ...routeKey(route, pepper),
      keyId: toId(routeDigest(route)),
      tenantId,
      envName: envOf(config, tenantId, agentId),
      agentId,
      name: `inbound ${prefix}`,
      description: null,
      permissions: ['scan'],
      ipAllowlist: null,
      createdAtMs: nowMs,
      expiresAtMs: null,
    },
  ];
}

const envOf = (config: Config, tenantId: string, agentId: string): string =>
  config.agents.find((it) => it.id === agentId)?.envName ??
  config.tenants.get(tenantId)?.environments[0] ??
  'default';

/** A UUID of version 8 (RFC 9562, 5.8): the same digest gives the same id on every node. */
const toId = (digest: string): string =>
  `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-a${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
