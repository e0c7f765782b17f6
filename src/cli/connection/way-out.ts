import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { clientVariables, readExports, toExports } from '../../daemon/start/client-variables.ts';
import { staleExports } from '../../daemon/start/next-steps.ts';
import { readOwn } from '../../util/files/own-file.ts';
import { isOfThisMachine, urlOf } from './addresses.ts';
import { agentKeyFile, keyBeside } from './agent-key.ts';
import { type CommonOptions, isAnswering, isRefused } from './client.ts';
import { readAddresses } from './configuration.ts';
import { firstExports, noKey } from './remedies.ts';

/* Tells how programs leave through a daemon that runs already. `env` prints that, and `run` sets it. */

export interface WayOut {
  /** URL of the control plane; undefined where that listens on a socket file. */
  readonly url: string | undefined;
  readonly key: string;
  readonly variables: Readonly<Record<string, string>>;
  /** The exports as a shell reads them. */
  readonly exports: string;
  /** Message for the case that the daemon refuses the key; it says where the key comes from. */
  readonly refused: string;
}

interface Ends {
  readonly url: string | undefined;
  readonly proxy: string;
  readonly key: string;
  readonly ca: string;
}

/** Returns the variables by which a program finds the gateway, and asks it with its key. */
export function variablesFor({ url, proxy, key, ca }: Ends): Record<string, string> {
  return {
    ...(url === undefined ? {} : { POSTERN_URL: url }),
    POSTERN_KEY: key,
    POSTERN_CA: ca,
    ...clientVariables(proxy.replace('://', `://agent:${key}@`), ca),
  };
}

/** Says that the way is known, and no key for it. */
export class NoKeyError extends Error {
  constructor(config: string | undefined) {
    super(noKey('the programs that shall leave through the gateway', config));
  }
}

/**
 * Returns the way to a configured daemon, with the key of the shell. Throws NoKeyError where none is known.
 */
function wayByConfig(config: Config, options: CommonOptions): WayOut {
  const url = options.url ?? urlOf(config, 'control');
  const key = process.env['POSTERN_KEY'] || keyBeside(config);
  if (!key) throw new NoKeyError(options.config);
  const proxy = urlOf(config, 'proxy');
  if (proxy === undefined) throw new Error('proxy.listen names no address.');
  const variables = variablesFor({ url, proxy, key, ca: config.authority.cert });
  const refused = `the daemon does not take the key in ${process.env['POSTERN_KEY'] ? 'POSTERN_KEY' : agentKeyFile}.`;
  return { url, key, variables, exports: toExports(variables), refused };
}

/**
 * Returns the way to the daemon that this folder started without a configuration; undefined where none was.
 */
function wayOfFirstStart(): WayOut | undefined {
  const file = resolve(firstExports);
  if (!existsSync(file)) return undefined;
  const exports = readOwn(file);
  const made = Object.fromEntries(readExports(exports));
  const { POSTERN_URL: url, POSTERN_KEY: key, POSTERN_CA: ca, HTTPS_PROXY: proxy } = made;
  if (!url || !key || !ca || !proxy)
    throw new Error(`${file} lacks exports; restore the file, or remove it.`);
  if (!isOfThisMachine(url) || !isOfThisMachine(proxy))
    throw new Error(`${file} leads to another machine; name the configuration of the daemon with --config.`);
  const variables = { POSTERN_URL: url, POSTERN_KEY: key, POSTERN_CA: ca, ...clientVariables(proxy, ca) };
  const refused = `${staleExports(file)}, or name the configuration of the daemon with --config.`;
  // The shell obeys what it is given, so nothing of the file is passed on unread.
  const known = new Set([...Object.keys(variables), ...idsOfFirstStart]);
  const shown = Object.entries(made).filter(([name]) => known.has(name));
  return { url, key, variables, exports: toExports(Object.fromEntries(shown)), refused };
}

const idsOfFirstStart = ['POSTERN_KEY_ID', 'POSTERN_AGENT_ID', 'SERVICE_API_KEYS_ADMIN_SECRET'];

/**
 * Returns the way that this shell has exported; undefined where a part is missing. The parts belong together,
 * since the gateway's authority fits no other proxy.
 */
export function wayOfShell(): WayOut | undefined {
  const { HTTPS_PROXY: proxy, POSTERN_CA: ca, POSTERN_URL: url } = process.env;
  if (!proxy || !ca || !url) return undefined;
  const key = decodeURIComponent(URL.parse(proxy)?.password ?? '') || (process.env['POSTERN_KEY'] ?? '');
  const variables = { POSTERN_URL: url, POSTERN_KEY: key, POSTERN_CA: ca, ...clientVariables(proxy, ca) };
  return {
    url,
    key,
    variables,
    exports: toExports(variables),
    refused: 'the daemon does not take the key in HTTPS_PROXY of this shell.',
  };
}

/** Returns the way that `--config` or the folder names; undefined where neither does. */
export async function toldWay(options: CommonOptions): Promise<WayOut | undefined> {
  const { file, config } = await readAddresses(options.config);
  return file === undefined ? wayOfFirstStart() : wayByConfig(config, options);
}

/** Tells whether the daemon answers. Throws where it refuses the key, which would fail every later call. */
export async function stands({ url, key, refused }: WayOut): Promise<boolean> {
  if (url === undefined || !(await isAnswering({ url }))) return false;
  if (key !== '' && (await isRefused(url, key))) throw new Error(refused);
  return true;
}
