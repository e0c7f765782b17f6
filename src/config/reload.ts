import { isDeepStrictEqual } from 'node:util';
import type { Config } from './schema.ts';

const fixed: Readonly<Record<string, (config: Config) => unknown>> = {
  'proxy.listen': (config) => config.proxy.listen,
  'control.listen': (config) => config.control.listen,
  'proxy.tls': ({ proxy }) => proxy.tls !== null,
  'proxy.proxy_protocol': ({ proxy }) => proxy.proxyProtocol,
  'control.tls': ({ control }) => control.tls !== null,
  'state.url': (config) => config.state.url,
  workers: (config) => config.workers,
  authority: (config) => config.authority,
  vault: (config) => config.vault,
};

/** The keys that differ and yet hold for the life of the daemon; empty where the new configuration can be taken over. */
export const changedFixedKeys = (before: Config, after: Config): string[] =>
  Object.keys(fixed).filter((key) => !isDeepStrictEqual(fixed[key]?.(before), fixed[key]?.(after)));
