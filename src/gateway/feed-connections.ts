import type { Duplex } from 'node:stream';
import type { Config } from '../config/schema.ts';
import { parseDescribed } from '../target.ts';
import { createDialer, type Dialer } from '../upstream/connect.ts';
import { createGuard, type Guard, type GuardOptions } from '../upstream/guard.ts';
import { createResolver } from '../upstream/resolve.ts';
import { loadRoots } from '../upstream/roots.ts';
import { toParent, toResolveEntry } from './generation.ts';

/** How threat feeds are reached: the way of all calls, save that administrators may fetch them from wherever they have chosen. */
export interface FeedConnections {
  connect(url: string): Promise<Duplex>;
  /** From now on as this configuration says. Throws, and changes nothing, where a file of authorities cannot be read. */
  use(config: Config): void;
}

export function openFeedConnections(
  config: Config,
  ownListeners: GuardOptions['ownListeners'],
): FeedConnections {
  const { checkChosen } = createGuard({ allowPrivate: [], deny: [], allowedPorts: [], ownListeners });
  let dialer = dialerOf(config, checkChosen);
  return {
    connect(url) {
      const { scheme, host, port } = parseDescribed(url);
      return dialer.dial({ scheme: scheme === 'https' ? 'https' : 'http', host, port }, 'http/1.1');
    },
    use(next) {
      dialer = dialerOf(next, checkChosen);
    },
  };
}

function dialerOf({ upstream }: Config, checkChosen: Guard['checkChosen']): Dialer {
  return createDialer({
    guard: { checkHost: () => {}, checkAddress: checkChosen, checkChosen },
    resolver: createResolver({ resolve: upstream.resolve.map(toResolveEntry) }),
    roots: loadRoots(upstream.caFiles),
    connectTimeoutMs: upstream.connectTimeoutMs,
    parent: toParent(upstream),
  });
}
