import net from 'node:net';
import tls from 'node:tls';
import { GatewayError } from '../../core/errors.ts';
import { type PeerKind, toConnectFailure, withHint } from './failures.ts';
import type { Guard } from './reach/guard.ts';
import { createPassesBy } from './reach/no-proxy.ts';
import {
  openTunnel,
  type ParentAddress,
  type ParentOptions,
  parseParentUrl,
  TunnelRefused,
} from './reach/parent.ts';
import type { Resolver } from './reach/resolve.ts';
import { contextFor } from './reach/root-context.ts';

/*
 * Opens connections to upstreams. A host is resolved once, every address of the answer is judged, and then
 * those very addresses are dialled. So no name server is asked a second time between check and connection,
 * when it could answer differently (DNS rebinding). Only with a parent proxy that resolves names is a host
 * handed on as it is.
 */

export interface DialerOptions {
  readonly guard: Guard;
  readonly resolver: Resolver;
  /** PEM certificates of the authorities that the certificates of upstreams may lead to: see `loadRoots`. */
  readonly roots: readonly string[];
  /** Time for DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /**
   * Parent proxy through which all calls leave but those that it lets pass by; undefined where there is none.
   */
  readonly parent?: ParentOptions | undefined;
}

export interface Endpoint {
  /**
   * Scheme of what is spoken. `tcp` is for bytes of any protocol, and whoever takes the connection closes
   * each side of it.
   */
  readonly scheme: 'http' | 'https' | 'tcp';
  readonly host: string;
  readonly port: number;
}

/** The protocols by their names in ALPN (RFC 7301). */
export type Protocol = 'http/1.1' | 'h2';

/** The last TLS session with an origin. Hosts must not share one: resumption skips the name check. */
export interface TlsSessionStore {
  session: Buffer | undefined;
}

/** Opens connections to a parent proxy. */
interface Parent {
  readonly address: ParentAddress;
  connect(timeoutMs: number, allowHalfOpen: boolean): Promise<net.Socket>;
}

/** Number of a name's addresses that are tried. All of them are judged. */
const addressesTriedMax = 8;

export class Dialer {
  readonly #options: DialerOptions;
  readonly #guard;
  readonly #resolver;
  readonly #connectTimeoutMs;
  readonly #secureContext;
  readonly #parent;
  readonly #passesBy;

  constructor(options: DialerOptions) {
    this.#options = options;
    const { guard, resolver, connectTimeoutMs } = options;
    this.#guard = guard;
    this.#resolver = resolver;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#secureContext = contextFor(options.roots);
    this.#parent = options.parent && this.#createParent(options.parent);
    this.#passesBy = createPassesBy(options.parent?.noProxy ?? []);
  }

  /**
   * Opens a TCP connection, and TLS on top of it for `https`. Throws EGRESS_BLOCKED, UPSTREAM_UNREACHABLE,
   * UPSTREAM_TLS or UPSTREAM_TIMEOUT. The host is normalised. `store` has an earlier TLS session with this
   * same host and port, which is resumed, and gets the new one.
   */
  async dial(endpoint: Endpoint, protocol: Protocol, store?: TlsSessionStore): Promise<net.Socket> {
    const deadlineMs = performance.now() + this.#connectTimeoutMs;
    const { addresses, port, parent: through } = await this.#locate(endpoint);
    const allowHalfOpen = endpoint.scheme === 'tcp';
    const wanted: Wanted = {
      endpoint: { ...endpoint, port },
      addresses,
      deadlineMs,
      allowHalfOpen,
      peer: 'upstream',
    };
    return through
      ? await this.#dialThrough(through, wanted, protocol, store)
      : await this.#dialStraight(wanted, protocol, store);
  }

  /**
   * Returns the addresses of an endpoint, which were judged, and the parent to go through. A parent that
   * resolves names gets the host in their place.
   */
  async #locate({ host, port }: Endpoint) {
    this.#guard.checkHost(host, port);
    if (
      this.#parent &&
      this.#options.parent?.resolves &&
      !this.#resolver.isGiven(host) &&
      !this.#passesBy(host, port, [])
    )
      return { addresses: [host], port, parent: this.#parent };
    const resolution = await within(this.#connectTimeoutMs, this.#resolver.resolve(host, port));
    // One forbidden address among public ones is how rebinding looks, so it condemns the whole answer.
    for (const address of resolution.addresses) this.#guard.checkAddress(address, resolution.port);
    return {
      ...resolution,
      parent: this.#passesBy(host, port, resolution.addresses) ? undefined : this.#parent,
    };
  }

  async #dialStraight(
    { endpoint, addresses, deadlineMs, allowHalfOpen, peer }: Wanted,
    protocol: Protocol,
    store: TlsSessionStore | undefined,
  ): Promise<net.Socket> {
    const { scheme, host, port } = endpoint;
    let failure = new GatewayError('UPSTREAM_TIMEOUT', late(peer));
    for (const [address, attemptMs] of inTurn(addresses, deadlineMs)) {
      const way = { host: address, port, allowHalfOpen };
      const socket = scheme === 'https' ? this.#secure(host, way, protocol, store) : net.connect(way);
      const attempt = new Attempt(socket, scheme === 'https', attemptMs, peer);
      try {
        return await attempt.opened;
      } catch (error) {
        failure = error as GatewayError;
        // TCP was answered, so this is the upstream. Its other addresses would fail at TLS as well.
        if (attempt.isTcpOpen) break;
      }
    }
    throw failure;
  }

  /** Asks the parent for each address in turn, while it says that it cannot reach the one before. */
  async #dialThrough(
    { address: parentAddress, connect }: Parent,
    { endpoint, addresses, deadlineMs, allowHalfOpen, peer }: Wanted,
    protocol: Protocol,
    store: TlsSessionStore | undefined,
  ): Promise<net.Socket> {
    const { scheme, host, port } = endpoint;
    let failure = new GatewayError('UPSTREAM_TIMEOUT', late('parent proxy'));
    for (const [address, attemptMs] of inTurn(addresses, deadlineMs)) {
      const attemptEndMs = performance.now() + attemptMs;
      const socket = await connect(attemptMs, allowHalfOpen);
      const leftMs = Math.max(1, attemptEndMs - performance.now());
      try {
        const tunnel = await openTunnel(socket, { host: address, port }, parentAddress, leftMs);
        if (scheme !== 'https') return tunnel;
        const secured = this.#secure(host, { socket: tunnel }, protocol, store);
        const secureMs = Math.max(1, deadlineMs - performance.now());
        return await new Attempt(secured, true, secureMs, peer, true).opened;
      } catch (error) {
        failure = this.#options.parent?.resolves ? (error as GatewayError) : withHint(error as GatewayError);
        if (!(error instanceof TunnelRefused && error.isOfAddress)) break;
      }
    }
    throw failure;
  }

  /** Opens TLS with a host, on a connection that stands or one that is opened for it. */
  #secure(
    host: string,
    way: { readonly socket: net.Socket } | net.TcpNetConnectOpts,
    protocol: Protocol,
    store: TlsSessionStore | undefined,
  ): tls.TLSSocket {
    const socket = tls.connect({
      ...way,
      secureContext: this.#secureContext,
      // This is said aloud, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
      rejectUnauthorized: true,
      // A literal address is no server name (RFC 6066, 3). The certificate is compared with the host that was
      // asked for.
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

  #createParent({ url }: ParentOptions): Parent {
    const address = parseParentUrl(url);
    if (!address) throw new RangeError('The URL of the parent proxy is not valid.');
    const store: TlsSessionStore = { session: undefined };
    return {
      address,
      connect: async (timeoutMs, allowHalfOpen) => {
        const deadlineMs = performance.now() + timeoutMs;
        const { addresses, port } = await within(
          timeoutMs,
          this.#resolver.resolve(address.host, address.port),
        );
        // Whoever chose the parent may choose an address of the inside, but not this gateway: a call would go
        // round for ever.
        for (const it of addresses) this.#guard.checkChosen(it, port);
        const wanted: Wanted = {
          endpoint: { ...address, port },
          addresses,
          deadlineMs,
          allowHalfOpen,
          peer: 'parent proxy',
        };
        return this.#dialStraight(wanted, 'http/1.1', store);
      },
    };
  }
}

/** An endpoint to dial, and how. */
interface Wanted {
  readonly endpoint: Endpoint;
  readonly addresses: readonly string[];
  readonly deadlineMs: number;
  readonly allowHalfOpen: boolean;
  readonly peer: PeerKind;
}

const keepAliveProbeMs = 60_000;
const late = (peer: PeerKind): string => `The ${peer} did not accept the connection in time.`;

/**
 * Yields the addresses, each with its share of the time in milliseconds. A dead one may not use up the time
 * of the others.
 */
function* inTurn(all: readonly string[], deadlineMs: number): Generator<[address: string, ms: number]> {
  const addresses = all.slice(0, addressesTriedMax);
  for (const [index, address] of addresses.entries()) {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return;
    yield [address, leftMs / (addresses.length - index)];
  }
}

/** Opens one connection, which stands, fails or is late. */
class Attempt {
  isTcpOpen: boolean;
  readonly opened: Promise<net.Socket>;

  constructor(socket: net.Socket, isSecure: boolean, timeoutMs: number, peer: PeerKind, isTcpOpen = false) {
    this.isTcpOpen = isTcpOpen;
    this.opened = new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        socket.destroy(new GatewayError('UPSTREAM_TIMEOUT', late(peer)));
      }, timeoutMs);
      // This listener stays on the socket. An error before whoever takes the socket listens would end the
      // process.
      socket.on('error', (error) => {
        clearTimeout(timer);
        reject(toConnectFailure(error, this.isTcpOpen, peer));
      });
      socket.once('connect', () => {
        this.isTcpOpen = true;
      });
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
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
