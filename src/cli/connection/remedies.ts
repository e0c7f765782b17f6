import { existsSync } from 'node:fs';
import { findConfigFile } from '../../config/files.ts';
import { toGetSecret } from '../../daemon/start/next-steps.ts';

/*
 * Advice for a command that lacks a key or a secret, or has one that the daemon does not take. `config` is
 * what `--config` names.
 */

/** File with the key and the secret of a first start, relative to the folder of that start. */
export const firstExports = 'data/first-start.env';

function toHaveSecret(config: string | undefined): string {
  const file = findConfigFile(config, process.env);
  return file === undefined && existsSync(firstExports)
    ? `The daemon that was started here without a configuration has both in ${firstExports}: ". ${firstExports}" exports them.`
    : `Where the daemon has none, ${toGetSecret(file)}.`;
}

export const noSecret = (config: string | undefined): string =>
  `set POSTERN_KEY to a key that may do this, or SERVICE_API_KEYS_ADMIN_SECRET to the admin secret of the daemon. ${toHaveSecret(config)}`;

export const noKey = (of: string, config: string | undefined): string =>
  `set POSTERN_KEY to the key of ${of}; "postern key mint --name NAME" makes one, with the admin secret of the daemon. ${toHaveSecret(config)}`;

/**
 * Tells whether the daemon refuses the key or secret itself. One without an admin secret answers that there
 * is no such endpoint.
 */
export const isUnknown = (status: number, answer: unknown): boolean =>
  (status === 401 && Object(answer).code === 'INVALID_KEY') ||
  (status === 404 && /^Without an admin secret\b/.test(String(Object(answer).detail)));

export function unknownSecret(secret: string, config: string | undefined): string {
  const { POSTERN_KEY: key, SERVICE_API_KEYS_ADMIN_SECRET: admin } = process.env;
  if (secret === key) return 'The daemon does not take the key in POSTERN_KEY.';
  const file = findConfigFile(config, process.env);
  return secret !== admin && file !== undefined
    ? `The daemon does not take the secret that ${file} names now: one that was changed holds from the next reload on ("systemctl reload postern", SIGHUP).`
    : `The daemon does not take what this shell has in SERVICE_API_KEYS_ADMIN_SECRET; it must be the daemon's own. ${toHaveSecret(config)}`;
}
