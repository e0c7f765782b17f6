import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { openLog } from '../core/log.ts';
import { openStore } from '../state/open.ts';
import type { Store } from '../state/store.ts';
import { readConfig } from './connection/configuration.ts';

interface StoredState {
  readonly store: Store;
  /** Tenants of the configuration, and those that were registered. */
  readonly tenantIds: readonly string[];
}

/** The tenant of a start without a configuration. */
const tenantOfFirstStart = 'default';

/**
 * Opens the state of a configuration while its daemon is down. An embedded state is locked as long as it is
 * open, so that no daemon runs beside it. Throws where an embedded state was never made.
 */
export async function openStoredState(named: string | undefined): Promise<StoredState> {
  const { file, config } = await readConfig(named);
  const store = await openStateOf(config);
  if (!store)
    throw new Error(`there is no state in ${config.state.dir}; name the configuration with --config.`);
  const configured = file === undefined ? [tenantOfFirstStart] : [...config.tenants.keys()];
  return { store, tenantIds: [...new Set([...configured, ...(await store.registeredTenants())])] };
}

/** Returns the state that a configuration names; undefined where an embedded one was never made. */
export async function openStateOf({ state, log: { level } }: Config): Promise<Store | undefined> {
  const { url, dir, timeoutMs, caFile } = state;
  if (url.driver === 'embedded' && !existsSync(join(url.dir, 'state.db'))) return undefined;
  return openStore({ url, dir, timeoutMs, caFile, log: openLog({ level, file: null }) });
}
