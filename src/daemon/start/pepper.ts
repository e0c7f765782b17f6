import { hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../core/log.ts';
import { parseVaultKeys, vaultKeyBytes } from '../../credentials/vault.ts';
import { loadOrMakeSecret, loadOrMakeSecrets } from '../../state/rules/secrets.ts';

const pepperBytes = 32;

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
  return loadOrMakeSecret(join(state.dir, 'pepper'), pepperBytes);
}
