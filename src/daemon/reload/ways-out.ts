import type { Files } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { createTransport } from '../../notify/transport.ts';
import { Dialer } from '../../wire/client/connect.ts';
import { createHttpClient } from '../../wire/client/http-client.ts';
import type { Guard, ListenerAddress } from '../../wire/client/reach/guard.ts';
import type { ParentOptions } from '../../wire/client/reach/parent.ts';
import { createResolver, type ResolveEntry } from '../../wire/client/reach/resolve.ts';
import { loadRoots } from '../../wire/client/reach/roots.ts';
import { Upstream, type UpstreamOptions } from '../../wire/client/upstream.ts';
import { readerOfRoots } from './named-files.ts';

interface WaysOutOptions extends Pick<UpstreamOptions, 'guard' | 'ownPrefix' | 'watch'> {
  readonly guard: Guard;
  ownListeners(): readonly ListenerAddress[];
}

/**
 * Makes all of a generation's ways to other hosts. They have one resolver, the same roots and the same parent
 * proxy.
 */
export function createWaysOut(
  config: Config,
  files: Files,
  { guard, ownPrefix, watch, ownListeners }: WaysOutOptions,
) {
  const { upstream: options } = config;
  const { connectTimeoutMs, responseTimeoutMs, idleTimeoutMs, h2, deny } = options;
  const dialing = {
    resolver: createResolver({ resolve: options.resolve.map(toResolveEntry) }),
    roots: loadRoots(options.caFiles, readerOfRoots(files)),
    connectTimeoutMs,
    parent: toParent(options),
  };
  const dialer = new Dialer({ ...dialing, guard });
  return {
    /** Sends the calls that were let out. */
    upstream: new Upstream({
      ...{ ...dialing, guard, responseTimeoutMs, idleTimeoutMs, h2, ownPrefix, watch },
      connectionsMax: connectionsMaxOf(config),
    }),
    /** Sends requests of the gateway itself that calls need, such as those for tokens. */
    ownClient: createHttpClient({ connect: (to) => dialer.dial(to, 'http/1.1'), idleTimeoutMs }),
    /** Sends notices and telemetry. */
    transport: createTransport({ ...dialing, deny, ownListeners }),
  };
}

/** The number of listeners that an agent may call by. Each allows an agent its own number of connections. */
const listeners = 2;

/**
 * Returns the bound on connections to one host, which the agents of a tenant share. An agent whose calls
 * never end has half of them at most.
 */
function connectionsMaxOf({ limits, tenants }: Config): number {
  let perAgent = limits.maxConnectionsPerAgent;
  for (const it of tenants.values()) perAgent = Math.max(perAgent, it.maxConnectionsPerAgent);
  return 2 * listeners * perAgent;
}

export const toParent = ({ proxy, noProxy, proxyResolves }: Config['upstream']): ParentOptions | undefined =>
  proxy === null ? undefined : { url: proxy, noProxy, resolves: proxyResolves };

export const toResolveEntry = ({
  host,
  address,
  port,
}: Config['upstream']['resolve'][number]): ResolveEntry =>
  port === null ? { host, address } : { host, address, port };
