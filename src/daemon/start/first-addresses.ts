import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Environment } from '../../config/checks/references.ts';
import { parseListenAddress } from '../../config/sections/addresses.ts';
import { readExports } from './client-variables.ts';

/* Finds the addresses of a daemon that is started without a configuration. */

/** The addresses of the two listeners, as `host:port`. */
export interface FirstAddresses {
  readonly proxy: string;
  readonly control: string;
  /** Sentences on ports that were taken. */
  readonly moved: readonly string[];
}

const host = '127.0.0.1';
const portsTried = 100;

/**
 * Returns the addresses that were asked for, else those of the first start, else the usual ones. On a first
 * start, a port that is taken gives way to the next free one.
 */
export async function firstAddresses(file: string, env: Environment): Promise<FirstAddresses> {
  const before = existsSync(file) ? readExports(readFileSync(file, 'utf8')) : undefined;
  const moved: string[] = [];
  const used = new Set<number>();
  const find = async (
    name: string,
    asked: string | undefined,
    earlier: string | undefined,
    usual: number,
  ) => {
    if (asked) return freeOf(asked);
    if (before) return hostOf(earlier) ?? `${host}:${usual}`;
    const port = await nextFree(usual, used);
    used.add(port);
    if (port !== usual)
      moved.push(`Port ${usual} is taken by another program; ${name} listens on ${port} instead.`);
    return `${host}:${port}`;
  };
  const proxy = await find('the proxy', env['POSTERN_LISTEN'], before?.get('HTTPS_PROXY'), 8080);
  const control = await find(
    'the control plane',
    env['POSTERN_CONTROL_LISTEN'],
    before?.get('POSTERN_URL'),
    8081,
  );
  return { proxy, control, moved };
}

const hostOf = (url: string | undefined): string | undefined => (url && URL.parse(url)?.host) || undefined;

/**
 * Returns an address with a free port in the place of port 0, because it is written down before the daemon
 * listens.
 */
async function freeOf(asked: string): Promise<string> {
  const address = parseListenAddress(asked);
  if (address?.kind !== 'tcp' || address.port !== 0) return asked;
  return asked.replace(/:0$/, `:${await boundPort(0, address.host)}`);
}

async function nextFree(usual: number, used: ReadonlySet<number>): Promise<number> {
  for (let port = usual; port < usual + portsTried; port += 1) {
    if (used.has(port)) continue;
    const bound = await boundPort(port, host).catch(() => undefined);
    if (bound !== undefined) return bound;
  }
  throw new Error(
    `the ports ${usual} to ${usual + portsTried - 1} are all taken; name one: postern serve --listen ${host}:PORT --control ${host}:PORT`,
  );
}

/** Listens for a moment and returns the port. Rejects where it is taken. */
async function boundPort(port: number, on: string): Promise<number> {
  const server = createServer();
  server.listen(port, on);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : port;
}
