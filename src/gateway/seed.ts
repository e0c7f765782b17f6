import { ConfigError } from '../config/load.ts';
import type { Config, KeyConfig } from '../config/schema.ts';
import { peppered } from '../key-text.ts';
import type { KeyRecord, Store } from '../state/store.ts';
import { type FirstStart, firstStartRecords } from './first-start.ts';

/** Agents and keys of the configuration, and what the first start made: each is there once, however often this runs. */
export async function seed(
  store: Store,
  config: Config,
  pepper: Buffer,
  firstStart: FirstStart | undefined,
): Promise<void> {
  const nowMs = Date.now();
  for (const agent of config.agents) {
    const standing = await store.ensureAgent({
      agentId: agent.id,
      tenantId: agent.tenantId,
      envName: agent.envName,
      name: agent.name,
      runtimeType: agent.runtimeType,
      status: 'active',
      createdAtMs: nowMs,
    });
    if (standing.tenantId !== agent.tenantId) {
      throw new ConfigError(config.file, [
        {
          path: 'agents',
          line: undefined,
          message: `the agent ${agent.id} belongs to another tenant already`,
        },
      ]);
    }
  }
  for (const key of config.keys) await seedKey(store, toKeyRecord(key, pepper, config, nowMs), 'config');
  if (!firstStart) return;
  const { agent, key } = firstStartRecords(firstStart, (digest) => peppered(digest, pepper), nowMs);
  await store.ensureAgent(agent);
  await seedKey(store, key, 'first-start');
}

/** Adds a key unless it is there; one that was revoked stays revoked. */
async function seedKey(store: Store, key: KeyRecord, operator: string): Promise<void> {
  if (await store.keyById(key.tenantId, key.keyId)) return;
  await store.addKey(key, {
    tenantId: key.tenantId,
    atMs: key.createdAtMs,
    kind: 'key.created',
    operator,
    subject: key.keyId,
    details: { prefix: key.prefix, name: key.name, agent_id: key.agentId },
  });
}

/** A key of the configuration, of which only the digest is known: its id follows from it, its prefix says so. */
function toKeyRecord(key: KeyConfig, pepper: Buffer, config: Config, nowMs: number): KeyRecord {
  const { hash, tenantId, agentId } = key;
  const agentEnv = config.agents.find((it) => it.id === agentId)?.envName;
  return {
    keyId: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    hash: peppered(hash, pepper),
    prefix: 'config',
    type: 'live',
    tenantId,
    envName: key.envName ?? agentEnv ?? config.tenants.get(tenantId)?.environments[0] ?? 'default',
    envNames: [],
    agentId,
    name: key.name,
    description: key.description,
    permissions: key.permissions,
    ipAllowlist: key.ipAllowlist,
    createdAtMs: nowMs,
    expiresAtMs: key.expiresAtMs,
    revokedAtMs: null,
    perMinute: null,
    requireNonce: false,
  };
}
