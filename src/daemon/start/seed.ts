import { join } from 'node:path';
import { disk, readText } from '../../config/files.ts';
import type { AgentConfig, Config } from '../../config/schema.ts';
import { peppered, readKey } from '../../core/key-text.ts';
import type { Log } from '../../core/log.ts';
import { keylessAgentOf } from '../../credentials/keyless.ts';
import { trustTermsOf } from '../../decision/facts/trust-loss.ts';
import type { Store } from '../../state/store.ts';
import { inGroups } from '../in-groups.ts';
import { readExports } from './client-variables.ts';
import { type FirstStart, firstStartFile, firstStartRecords } from './first-start.ts';
import { addOnce, seedKeys } from './seed-keys.ts';

interface SeedOptions {
  readonly store: Store;
  readonly pepper: Buffer;
  readonly firstStart: FirstStart | undefined;
  readonly log: Log;
  /** Tells whether calls are served meanwhile. */
  readonly hasCalls: boolean;
}

/** The state as a start has found it. */
export interface SeedResult {
  /** Tells whether a tenant of the configuration has a valid key. */
  readonly hasKeys: boolean;
  /**
   * The file of a first start beside the state, where the daemon does not take the key in it; undefined
   * otherwise.
   */
  readonly staleExports: string | undefined;
}

/**
 * Puts the agents and keys of the configuration, and those of a first start, into the state. Each is there
 * once, however often this runs. An agent that another tenant has already is left out with its keys: no
 * tenant can keep the others' configuration from being read. Two processes must not do this at once.
 */
export async function seed(
  config: Config,
  { store, pepper, firstStart, log, hasCalls }: SeedOptions,
): Promise<SeedResult> {
  const nowMs = Date.now();
  const ofOthers = new Set<string>();
  const ensure = async (agent: AgentConfig): Promise<void> => {
    const standing = await store.ensureAgent({
      agentId: agent.id,
      tenantId: agent.tenantId,
      envName: agent.envName,
      name: agent.name,
      runtimeType: agent.runtimeType,
      status: 'active',
      createdAtMs: nowMs,
    });
    if (standing.tenantId === agent.tenantId) return;
    ofOthers.add(agent.id);
    const { id: agent_id, tenantId: tenant_id } = agent;
    log.error({ agent_id, tenant_id }, 'an agent that belongs to another tenant already is left out');
  };
  await inGroups(agentsOf(config), ensure, hasCalls);
  const hasKeys = await seedKeys(store, config, { pepper, log, ofOthers, hasCalls });
  if (firstStart) {
    const { agent, key } = firstStartRecords(firstStart, (digest) => peppered(digest, pepper), nowMs);
    await store.ensureAgent(agent);
    await addOnce(store, key, 'first-start');
  }
  return { hasKeys, staleExports: await findStaleExports(config, { store, pepper }, nowMs) };
}

const exportsBytesMax = 64 * 1024;

/**
 * Finds the exports that a start without a configuration has left beside this state, if their key is not
 * valid.
 */
async function findStaleExports(
  { state, tenants }: Config,
  { store, pepper }: Pick<SeedOptions, 'store' | 'pepper'>,
  nowMs: number,
): Promise<string | undefined> {
  const file = join(state.dir, firstStartFile);
  let text: string;
  try {
    text = readText(disk, file, exportsBytesMax);
  } catch {
    // Usually there is no such file, and an unreadable one is no concern of the daemon's.
    return undefined;
  }
  const key = readKey(readExports(text).get('POSTERN_KEY') ?? '', pepper);
  const holder = key && (await store.identify(key.hash, nowMs));
  return holder?.ok && tenants.has(holder.identity.tenantId) ? undefined : file;
}

/** Returns the agents that the file names, and the agent of calls without a key. */
function agentsOf(config: Config): readonly AgentConfig[] {
  const keyless = keylessAgentOf(config);
  if (!keyless || config.agents.some((it) => it.id === keyless.agentId)) return config.agents;
  const { agentId: id, tenantId, envName, name } = keyless;
  return [...config.agents, { id, tenantId, envName, name, runtimeType: null }];
}

/** Makes this process restore trust and keep traces as the configuration says. */
export function applyTerms(config: Config, { store, log }: Pick<SeedOptions, 'store' | 'log'>): void {
  store.restoreTrust(trustTermsOf(config.risk.trust));
  // This is not awaited: while the daemon was away, much may have gathered.
  store.keepTraces(retentionOf(config)).catch((error) => log.warn({ err: error }, 'old traces stay for now'));
}

/**
 * Returns how long the traces of a tenant are kept, in milliseconds. Tenants that were registered by minting
 * keep them as an unknown tenant does.
 */
function retentionOf({ tenants, defaultTenant }: Config): (tenantId: string) => number {
  const otherMs = defaultTenant('default').retentionMs;
  return (tenantId) => tenants.get(tenantId)?.retentionMs ?? otherMs;
}
