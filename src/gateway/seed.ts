import { ConfigError } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { peppered } from '../key-text.ts';
import type { Log } from '../log.ts';
import type { Store } from '../state/store.ts';
import { type FirstStart, firstStartRecords } from './first-start.ts';
import { addOnce, seedKeys } from './seed-keys.ts';

export interface SeedOptions {
  readonly store: Store;
  readonly pepper: Buffer;
  readonly firstStart: FirstStart | undefined;
  readonly log: Log;
}

/** Agents and keys of the configuration, and what the first start made: each is there once, however often this runs. */
export async function seed(config: Config, { store, pepper, firstStart, log }: SeedOptions): Promise<void> {
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
  await seedKeys(store, config, pepper, log);
  if (!firstStart) return;
  const { agent, key } = firstStartRecords(firstStart, (digest) => peppered(digest, pepper), nowMs);
  await store.ensureAgent(agent);
  await addOnce(store, key, 'first-start');
}
