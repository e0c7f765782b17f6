import type { Config } from '../../config/schema.ts';
import type { SeedResult } from './seed.ts';

/*
 * Says what is missing where nobody can call a daemon yet, and how to get it. `serve` and refused commands
 * show these sentences.
 */

/**
 * Says how a daemon gets an admin secret. The daemon's own environment counts, not that of a command's shell.
 */
export const toGetSecret = (file: string | undefined): string =>
  `set control.admin_secret in ${file ?? 'its configuration'}, or SERVICE_API_KEYS_ADMIN_SECRET in the environment of the daemon, and restart it`;

export const staleExports = (file: string): string =>
  `${file} is stale: the daemon does not know its key, or it was revoked. Remove the file, and use a key of the daemon`;

/** Returns sentences for the person who has started the daemon; none where it can be used as it is. */
export function nextSteps(config: Config, { hasKeys, staleExports: stale }: SeedResult): readonly string[] {
  const steps = stale === undefined ? [] : [`${staleExports(stale)}.`];
  if (hasKeys || config.file === undefined || !config.proxy.requireAuth) return steps;
  const { file, control, tenants } = config;
  const command = `postern --config ${file}`;
  const mint = `"${command} key mint --name NAME${tenants.size === 1 ? '' : ' --tenant ID'}" makes a key, and "${command} env" the exports for it in POSTERN_KEY`;
  steps.push(
    control.adminSecret === null
      ? `Nobody can call yet: there is no key, and no admin secret to make one with. To have one, ${toGetSecret(file)}; then ${mint}.`
      : `Nobody can call yet: there is no key. With the admin secret in SERVICE_API_KEYS_ADMIN_SECRET, ${mint}.`,
  );
  return steps;
}
