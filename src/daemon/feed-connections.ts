import type { Files } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { parseDescribed } from '../core/target.ts';
import type { Connect } from '../risk/feeds/download.ts';
import { createDialer, type Dialer } from '../wire/client/connect.ts';
import { type AddressGuardOptions, createGuard, type Guard } from '../wire/client/reach/guard.ts';
import { createResolver } from '../wire/client/reach/resolve.ts';
import { loadRoots } from '../wire/client/reach/roots.ts';
import { toParent, toResolveEntry } from './reload/generation.ts';
import { readerOfRoots } from './reload/named-files.ts';

/**
 * How threat feeds are reached: the way of all calls, save that administrators may fetch them from wherever they have chosen. Where a server
 * leads to another one is its own choice.
 */
export interface FeedConnections {
  readonly connect: Connect;
  /** Puts together what this configuration says, and answers what puts it in force. Throws where a file of authorities cannot be read. */
  prepare(config: Config, files: Files): () => void;
}

export function openFeedConnections(
  config: Config,
  files: Files,
  ownListeners: AddressGuardOptions['ownListeners'],
): FeedConnections {
  let dialers = dialersOf(config, files, ownListeners);
  return {
    connect(url, isChosen) {
      const { scheme, host, port } = parseDescribed(url);
      const dialer = isChosen ? dialers.chosen : dialers.found;
      return dialer.dial({ scheme: scheme === 'https' ? 'https' : 'http', host, port }, 'http/1.1');
    },
    prepare(next, itsFiles) {
      const nextDialers = dialersOf(next, itsFiles, ownListeners);
      return () => {
        dialers = nextDialers;
      };
    },
  };
}

/** For servers that an administrator has chosen, and for those that others lead to. */
interface Dialers {
  readonly chosen: Dialer;
  readonly found: Dialer;
}

function dialersOf(config: Config, files: Files, ownListeners: AddressGuardOptions['ownListeners']): Dialers {
  const { allowPrivate, deny, allowedPorts } = config.upstream;
  const guard = createGuard({ allowPrivate, deny, allowedPorts, ownListeners });
  const { checkChosen } = guard;
  return {
    chosen: dialerOf(config, files, { checkHost: () => {}, checkAddress: checkChosen, checkChosen }),
    found: dialerOf(config, files, guard),
  };
}

function dialerOf({ upstream }: Config, files: Files, guard: Guard): Dialer {
  return createDialer({
    guard,
    resolver: createResolver({ resolve: upstream.resolve.map(toResolveEntry) }),
    roots: loadRoots(upstream.caFiles, readerOfRoots(files)),
    connectTimeoutMs: upstream.connectTimeoutMs,
    parent: toParent(upstream),
  });
}
