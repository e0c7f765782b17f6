import { hkdfSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { parseVaultKeys, vaultKeyBytes } from '../../credentials/vault.ts';
import { loadOrMakeSecret, loadOrMakeSecrets } from '../../state/rules/secrets.ts';
import type { Store } from '../../state/store.ts';

const pepperBytes = 32;
const pepperFile = ({ dir }: Config['state']): string => join(dir, 'pepper');

/**
 * Returns the secret that keys are hashed with. It is a file beside the local files, made on the first start.
 * Nodes that share a Redis and the key of the vault have the same secret. It is derived there (HKDF, RFC
 * 5869) from the oldest key of the vault, which stands last. It never stands in the state itself.
 */
export function loadPepper({ vault, state }: Pick<Config, 'vault' | 'state'>, log: Log): Buffer {
  if (state.url.driver === 'redis') {
    const keys = vault.keyFile === null ? [] : loadOrMakeSecrets(vault.keyFile, vaultKeyBytes);
    const shared = (vault.key === null ? keys : parseVaultKeys(vault.key))?.at(-1);
    if (shared) return Buffer.from(hkdfSync('sha256', shared, '', 'postern pepper', pepperBytes));
    log.warn(
      { dir: state.dir },
      'keys made by this node are valid on this node alone; name the key of the vault for several nodes',
    );
  }
  return loadOrMakeSecret(pepperFile(state), pepperBytes);
}

/**
 * Throws where the embedded state has keys and the secret that they were hashed with is gone. With a new one
 * none of them would be valid, and the old ones would be lost for good.
 */
export async function checkPepper({ state, tenants }: Config, store: Store): Promise<void> {
  if (state.url.driver === 'redis' || existsSync(pepperFile(state))) return;
  for (const tenantId of new Set([...tenants.keys(), ...(await store.registeredTenants())])) {
    const { items } = await store.listKeys(tenantId, { limit: 1, cursor: undefined });
    if (items.length > 0)
      throw new Error(
        `${pepperFile(state)} is gone, without which no key in the state is valid. Put it back from a backup; ` +
          'to begin with new keys, move the whole state folder away.',
      );
  }
}
