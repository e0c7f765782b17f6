import type { Files } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { Dialer } from '../wire/client/connect.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from '../wire/client/http-client.ts';
import { type AddressGuardOptions, createGuard, type Guard } from '../wire/client/reach/guard.ts';
import { createResolver } from '../wire/client/reach/resolve.ts';
import { loadRoots } from '../wire/client/reach/roots.ts';
import { readerOfRoots } from './reload/named-files.ts';
import { toParent, toResolveEntry } from './reload/ways-out.ts';

/** Milliseconds without a byte after which a server is taken for gone. */
const idleTimeoutMs = 30_000;

/**
 * The connections to threat feeds. They go the way of all calls, but administrators may fetch feeds from
 * wherever they have chosen. A server that redirects to another one makes a choice of its own, which gets no
 * such freedom.
 */
export type FeedConnections = ReturnType<typeof openFeedConnections>;

export function openFeedConnections(
  config: Config,
  files: Files,
  ownListeners: AddressGuardOptions['ownListeners'],
) {
  let clients = clientsOf(config, files, ownListeners);
  return {
    download: (request: HttpRequest, isChosen: boolean) =>
      (isChosen ? clients.chosen : clients.found)(request),
    /** Prepares a configuration and returns what puts it in force. Throws if authorities are unreadable. */
    prepare(next: Config, itsFiles: Files) {
      const nextClients = clientsOf(next, itsFiles, ownListeners);
      return () => {
        clients = nextClients;
      };
    },
  };
}

/**
 * Makes the clients for servers that an administrator has chosen, and for those that other servers lead to.
 */
function clientsOf(config: Config, files: Files, ownListeners: AddressGuardOptions['ownListeners']) {
  const { allowPrivate, deny, allowedPorts } = config.upstream;
  const guard = createGuard({ allowPrivate, deny, allowedPorts, ownListeners });
  const { checkChosen } = guard;
  return {
    chosen: clientOf(config, files, { checkHost: () => {}, checkAddress: checkChosen, checkChosen }),
    found: clientOf(config, files, guard),
  };
}

function clientOf({ upstream }: Config, files: Files, guard: Guard): HttpClient {
  const dialer = new Dialer({
    guard,
    resolver: createResolver({ resolve: upstream.resolve.map(toResolveEntry) }),
    roots: loadRoots(upstream.caFiles, readerOfRoots(files)),
    connectTimeoutMs: upstream.connectTimeoutMs,
    parent: toParent(upstream),
  });
  return createHttpClient({ connect: (to) => dialer.dial(to, 'http/1.1'), idleTimeoutMs });
}
