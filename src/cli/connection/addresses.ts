import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../config/checks/references.ts';
import type { Config } from '../../config/schema.ts';
import { ForeignFileError, readOwn } from '../../util/files/own-file.ts';

type Listener = 'proxy' | 'control';

/**
 * Returns `host:port` of the first TCP listener, as a running daemon has noted it, or else as it is
 * configured; undefined where there is none. Throws where the port is 0 and no daemon has noted it.
 */
function addressOf(config: Config, listener: Listener): string | undefined {
  const { listen }: Pick<Config['control'], 'listen'> = config[listener];
  const at = listen.findIndex((it) => it.kind === 'tcp');
  const address = listen[at];
  if (address?.kind !== 'tcp') return undefined;
  // A daemon that runs may have been told another address than its file has.
  const running = addressesOfRunning(config, listener)?.[at];
  if (running !== undefined) return running;
  if (address.port === 0) return boundAddresses(config, listener)[at];
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}

/** Returns the URL of the first TCP listener; on this machine, if the daemon listens everywhere. */
export function urlOf(config: Config, listener: Listener): string | undefined {
  const address = addressOf(config, listener)
    ?.replace(/^0\.0\.0\.0:/, '127.0.0.1:')
    .replace(/^\[::\]:/, '[::1]:');
  return address && `${config[listener].tls ? 'https' : 'http'}://${address}`;
}

/** Returns the URL of the daemon that was started here without a configuration; undefined where none was. */
export function urlHere(config: Config, listener: Listener): string | undefined {
  if (!existsSync(fileOf(config))) return undefined;
  const [address] = boundAddresses(config, listener, readOwn);
  return address !== undefined && isOfThisMachine(`http://${address}`) ? `http://${address}` : undefined;
}

/**
 * Tells whether a URL leads to the loopback of this machine. What stands in the files of a folder may be
 * anybody's, so the secrets of the shell go nowhere else because of it.
 */
export const isOfThisMachine = (url: string): boolean =>
  /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/.test(URL.parse(url)?.hostname ?? '');

const fileOf = ({ state }: Config): string => join(state.dir, 'listening.json');

/** Returns the addresses of a running daemon; undefined where none runs, or its folder may not be read. */
function addressesOfRunning(config: Config, listener: Listener): readonly string[] | undefined {
  try {
    const bound = JSON.parse(readFileSync(fileOf(config), 'utf8'));
    process.kill(bound.pid, 0);
    return bound[listener];
  } catch {
    return undefined;
  }
}

function boundAddresses(
  config: Config,
  listener: Listener,
  read = (file: string): string => readFileSync(file, 'utf8'),
): readonly string[] {
  const file = fileOf(config);
  let text: string;
  try {
    text = read(file);
  } catch (error) {
    if (error instanceof ForeignFileError) throw error;
    throw new NoAddressError(file, error);
  }
  return (JSON.parse(text) as Record<Listener, string[]>)[listener];
}

/** Says that the port is any, and that no daemon has written down which one it took. */
export class NoAddressError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `does a daemon run with this configuration? It would write its address into ${file}, which cannot be read: ${reasonOf(cause)}.`,
      { cause },
    );
  }
}
