import type { Duplex } from 'node:stream';
import type { Files } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { parseDescribed } from '../target.ts';
import { createDialer, type Dialer } from '../upstream/connect.ts';
import { createGuard, type Guard, type GuardOptions } from '../upstream/guard.ts';
import { createResolver } from '../upstream/resolve.ts';
import { loadRoots } from '../upstream/roots.ts';
import { toParent, toResolveEntry } from './generation.ts';
import { readerOfRoots } from './named-files.ts';

/** How threat feeds are reached: the way of all calls, save that administrators may fetch them from wherever they have chosen. */
export interface FeedConnections {
  connect(url: string): Promise<Duplex>;
  /** Puts together what this configuration says, and answers what puts it in force. Throws where a file of authorities cannot be read. */
  prepare(config: Config, files: Files): () => void;
}

export function openFeedConnections(
  config: Config,
  files: Files,
  ownListeners: GuardOptions['ownListeners'],
): FeedConnections {
  const { checkChosen } = createGuard({ allowPrivate: [], deny: [], allowedPorts: [], ownListeners });
  let dialer = dialerOf(config, files, checkChosen);
  return {
    connect(url) {
      const { scheme, host, port } = parseDescribed(url);
      return dialer.dial({ scheme: scheme === 'https' ? 'https' : 'http', host, port }, 'http/1.1');
    },
    prepare(next, itsFiles) {
      const nextDialer = dialerOf(next, itsFiles, checkChosen);
      return () => {
        dialer = nextDialer;
      };
    },
  };
}

function dialerOf({ upstream }: Config, files: Files, checkChosen: Guard['checkChosen']): Dialer {
  return createDialer({
    guard: { checkHost: () => {}, checkAddress: checkChosen, checkChosen },
    resolver: createResolver({ resolve: upstream.resolve.map(toResolveEntry) }),
    roots: loadRoots(upstream.caFiles, readerOfRoots(files)),
    connectTimeoutMs: upstream.connectTimeoutMs,
    parent: toParent(upstream),
  });
}
