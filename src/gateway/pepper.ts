import { hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log.ts';
import { loadOrMakeSecret } from '../state/secrets.ts';
import { parseVaultKey, vaultKeyBytes } from '../vault/vault.ts';

const pepperBytes = 32;

/**
 * The secret that keys are hashed with. It is a file beside the local files, made on the first start; nodes that share a Redis share it by
 * sharing the key of the vault, of which it is derived there (HKDF, RFC 5869). It never stands in the state itself.
 */
export function loadPepper({ vault, state }: Pick<Config, 'vault' | 'state'>, log: Log): Buffer {
  if (state.url.driver === 'redis') {
    const key = vault.keyFile === null ? undefined : loadOrMakeSecret(vault.keyFile, vaultKeyBytes);
    const shared = vault.key === null ? key : parseVaultKey(vault.key);
    if (shared) return Buffer.from(hkdfSync('sha256', shared, '', 'postern pepper', pepperBytes));
    log.warn(
      { dir: state.dir },
      'keys made by this node are valid on this node alone; name the key of the vault for several nodes',
    );
  }
  return loadOrMakeSecret(join(state.dir, 'pepper'), pepperBytes);
}
