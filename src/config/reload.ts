import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from './load.ts';
import type { Config } from './schema.ts';

const fixed: Readonly<Record<string, (config: Config) => unknown>> = {
  'proxy.listen': (config) => config.proxy.listen,
  'control.listen': (config) => config.control.listen,
  'proxy.tls': ({ proxy }) => proxy.tls !== null,
  'proxy.proxy_protocol': ({ proxy }) => proxy.proxyProtocol,
  'control.tls': ({ control }) => control.tls !== null,
  'state.url': (config) => config.state.url,
  workers: (config) => config.workers,
  'reading.threads': (config) => config.reading.threads,
  authority: (config) => config.authority,
  vault: (config) => config.vault,
};

/**
 * Throws ConfigError where `next` changes keys that are fixed for the life of the daemon, and names those
 * keys.
 */
export function checkFixedKeys(before: Config, next: Config): void {
  const changed = Object.keys(fixed).filter(
    (key) => !isDeepStrictEqual(fixed[key]?.(before), fixed[key]?.(next)),
  );
  if (changed.length === 0) return;
  const message = 'cannot be changed by a reload; restart';
  throw new ConfigError(
    next.file,
    changed.map((path) => ({ path, line: undefined, message })),
  );
}
