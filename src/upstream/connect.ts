import net from 'node:net';
import tls from 'node:tls';
import { GatewayError } from '../errors.ts';
import { toConnectFailure } from './failures.ts';
import type { Guard } from './guard.ts';
import type { Resolver } from './resolve.ts';

/*
 * Opens connections to upstreams. A host is resolved once, every address of the answer is judged, and then those very addresses
 * are dialled: between the check and the connection there is no second question to a name server that could be answered
 * differently (DNS rebinding).
 */

export interface DialerOptions {
  readonly guard: Guard;
  readonly resolver: Resolver;
  /** PEM certificates of the authorities that upstreams may lead to: see `loadRoots`. */
  readonly roots: readonly string[];
  /** For DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
}

export interface Dialer {
  /**
   * Opens a TCP connection, and TLS on top of it for `https`. Throws EGRESS_BLOCKED, UPSTREAM_UNREACHABLE, UPSTREAM_TLS or
   * UPSTREAM_TIMEOUT. The host is normalised. `session` resumes an earlier TLS session with this same host and port.
   */
  dial(endpoint: Endpoint, protocol: Protocol, session?: SessionStore): Promise<net.Socket>;
}

export interface Endpoint {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

/** As ALPN names them (RFC 7301). */
export type Protocol = 'http/1.1' | 'h2';

/** Keeps the last TLS session of one origin. Never share one between hosts: a resumed session skips the name check. */
export interface SessionStore {
  session: Buffer | undefined;
}

/** A name with more addresses than this is not tried to its end; all of them are judged. */
const addressesTriedMax = 8;

export function createDialer(options: DialerOptions): Dialer {
  const { guard, resolver, connectTimeoutMs } = options;
  const secureContext = tls.createSecureContext({ ca: [...options.roots], minVersion: 'TLSv1.2' });

  async function dial({ scheme, host, port }: Endpoint, protocol: Protocol, store?: SessionStore) {
    const deadlineMs = performance.now() + connectTimeoutMs;
    guard.checkHost(host, port);
    const resolution = await within(connectTimeoutMs, resolver.resolve(host, port));
    // One forbidden address among public ones is how rebinding looks, so it condemns the whole answer.
    for (const address of resolution.addresses) guard.checkAddress(address, resolution.port);

    const addresses = resolution.addresses.slice(0, addressesTriedMax);
    let failure = new GatewayError('UPSTREAM_TIMEOUT', connectTimeoutDetail);
    for (const [index, address] of addresses.entries()) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) break;
      // An address that swallows packets may not use up the time of those after it.
      const attemptMs = leftMs / (addresses.length - index);
      const attempt = new Attempt(
        open({ scheme, host, port: resolution.port }, address, protocol, store),
        scheme,
        attemptMs,
      );
      try {
        return await attempt.opened;
      } catch (error) {
        failure = error as GatewayError;
        // What answered on TCP is the upstream; its siblings would fail at TLS as well.
        if (attempt.isTcpOpen) break;
      }
    }
    throw failure;
  }

  function open(
    { scheme, host, port }: Endpoint,
    address: string,
    protocol: Protocol,
    store?: SessionStore,
  ): net.Socket {
    if (scheme === 'http') return net.connect({ host: address, port });
    const socket = tls.connect({
      host: address,
      port,
      secureContext,
      // Said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
      rejectUnauthorized: true,
      // RFC 6066, 3: a literal address is no server name. The certificate is compared with the host that was asked for.
      servername: net.isIP(host) === 0 ? host : '',
      checkServerIdentity: (_name, certificate) => tls.checkServerIdentity(host, certificate),
      ALPNProtocols: [protocol],
      ...(store?.session ? { session: store.session } : {}),
    });
    if (store) {
      socket.on('session', (session) => {
        store.session = session;
      });
    }
    return socket;
  }

  return { dial };
}

const keepAliveProbeMs = 60_000;
const connectTimeoutDetail = 'The upstream did not accept the connection in time.';

/** One connection being opened, until it stands, fails or is late. */
class Attempt {
  isTcpOpen = false;
  readonly opened: Promise<net.Socket>;

  constructor(socket: net.Socket, scheme: 'http' | 'https', timeoutMs: number) {
    this.opened = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        socket.destroy(new GatewayError('UPSTREAM_TIMEOUT', connectTimeoutDetail));
      }, timeoutMs);
      // Stays on the socket: an error between here and the listener of whoever takes it would end the process.
      socket.on('error', (error) => {
        clearTimeout(timer);
        reject(toConnectFailure(error, this.isTcpOpen));
      });
      socket.once('connect', () => {
        this.isTcpOpen = true;
      });
      socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        resolve(socket);
      });
      socket.setNoDelay(true).setKeepAlive(true, keepAliveProbeMs);
    });
  }
}

async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new GatewayError('UPSTREAM_TIMEOUT', 'The host name was not resolved in time.')),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
