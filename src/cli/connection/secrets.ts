import { existsSync } from 'node:fs';
import { readExports } from '../../daemon/start/client-variables.ts';
import { readOwn } from '../../util/files/own-file.ts';
import { keyBeside } from './agent-key.ts';
import { readAddresses } from './configuration.ts';
import { firstExports, noKey, noSecret } from './remedies.ts';

/** The speaker of a command: `operator` shows the admin secret, or else a key; `agent` a key alone. */
export type Speaker = 'operator' | 'agent';

interface Named {
  readonly url?: string;
  readonly config?: string;
}

/**
 * Returns the secret for a command: that of the shell, or else that of the configuration or of the first
 * start in this folder. Throws where there is none. The latter two go only to the daemon of this folder, and
 * never to one that is named by its URL.
 */
export async function secretFor(as: Speaker, options: Named): Promise<string> {
  const { SERVICE_API_KEYS_ADMIN_SECRET: admin, POSTERN_KEY: key, POSTERN_URL: named } = process.env;
  const ofShell = as === 'operator' ? admin || key : key;
  const secret = ofShell || (options.url || named ? undefined : await secretHere(as, options));
  if (!secret)
    throw new Error(as === 'operator' ? noSecret(options.config) : noKey('the agent', options.config));
  // Whoever refuses a malformed secret would quote it.
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new Error('POSTERN_KEY or SERVICE_API_KEYS_ADMIN_SECRET has characters that no secret has.');
  return secret;
}

async function secretHere(as: Speaker, options: Named): Promise<string | undefined> {
  const { file, config } = await readAddresses(options.config);
  if (file !== undefined)
    return as === 'operator' ? (config.control.adminSecret ?? undefined) : keyBeside(config);
  if (!existsSync(firstExports)) return undefined;
  const exports = readExports(readOwn(firstExports));
  return exports.get(as === 'operator' ? 'SERVICE_API_KEYS_ADMIN_SECRET' : 'POSTERN_KEY');
}
