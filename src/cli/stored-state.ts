import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openLog } from '../log.ts';
import { openStore } from '../state/open.ts';
import type { Store } from '../state/store.ts';
import { readConfig } from './configuration.ts';

export interface StoredState {
  readonly store: Store;
  /** Those of the configuration, and those that were registered. */
  readonly tenantIds: readonly string[];
}

/** Where a start without a configuration keeps everything. */
const tenantOfFirstStart = 'default';

/**
 * Opens the state of a configuration while its daemon is down. An embedded one is locked as long as it is open, so that a daemon cannot
 * run beside it; one that is not there is not made.
 */
export async function openStoredState(named: string | undefined): Promise<StoredState> {
  const { file, config } = await readConfig(named);
  const { url, dir, timeoutMs, caFile } = config.state;
  if (url.driver === 'embedded' && !existsSync(join(url.dir, 'state.db')))
    throw new Error(`there is no state in ${url.dir}; name the configuration with --config.`);
  const log = openLog({ level: config.log.level, file: null });
  const store = await openStore({ url, dir, timeoutMs, caFile, log });
  const configured = file === undefined ? [tenantOfFirstStart] : [...config.tenants.keys()];
  return { store, tenantIds: [...new Set([...configured, ...(await store.registeredTenants())])] };
}
