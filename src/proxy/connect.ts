import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { bareCall, noHead, type PresentedKey, type ReceivedCall } from '../core/call.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { normaliseHost, parseAuthority, targetWithin } from '../core/target.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { whyBlocked } from '../wire/client/reach/guard.ts';
import type { ConnectRequest } from '../wire/server/agent-connection.ts';
import type { Connections } from '../wire/server/connections.ts';
import { peerAddress } from '../wire/server/peer-address.ts';
import { rawProblem, toLines } from '../wire/server/problem.ts';
import { acceptTls } from '../wire/tls/accept.ts';
import type { Contexts } from '../wire/tls/contexts.ts';
import type { Tunnel } from './addressed.ts';
import { authenticateProxyUser, inProxyTerms, keyRefused } from './authenticate.ts';
import type { JoinedTunnels } from './joined-tunnels.ts';
import { passThrough } from './pass-through.ts';
import { readRequestHead } from './request-head.ts';

interface ConnectOptions {
  readonly gate: () => EntranceGate;
  readonly contexts: Contexts;
  readonly connections: Connections;
  /** Takes the decrypted (or plain) connection of a tunnel and speaks HTTP on it. */
  readonly serve: (socket: Socket, tunnel: Tunnel, speaks?: { readonly isHttp2: boolean }) => void;
  /** Keeps the tunnels that nobody reads. */
  readonly joined: JoinedTunnels;
  readonly log: Log;
}

const established = (headers: readonly string[] = []): string =>
  `HTTP/1.1 200 Connection Established\r\n${toLines(headers)}\r\n`;
const tlsHandshake = 0x16;
/** Beginning of HTTP/2 without TLS (RFC 9113, 3.4), as clients of gRPC send it; no method is called so. */
const http2Start = 'PRI ';
/**
 * Protocols that are offered in tunnels. Clients that know several mean the first one that they name, which is
 * HTTP/2.
 */
const alpnProtocols = ['h2', 'http/1.1', 'http/1.0'];

/**
 * Opens tunnels (RFC 9110, 9.3.6). It authenticates, checks host and port as far as that goes without
 * resolving anything, answers 200, and looks at the first byte. Then it speaks TLS with a certificate of its
 * own for the host. Nothing is dialled here; the calls inside decide that. A host that is passed through has
 * one call: the tunnel itself.
 */
export class ConnectEntrance {
  readonly #options: ConnectOptions;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  connect(request: ConnectRequest, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#options.connections.begin(socket);
    const current = this.#options.gate();
    this.#open(current, request, socket)
      .then((tunnel) =>
        current.isPassedThrough(tunnel.host)
          ? this.#pass(current, request, socket, head, tunnel)
          : this.#establish(socket, head, tunnel),
      )
      .catch((error: unknown) => {
        refuse(socket, toGatewayError(error), this.#options.gate().config.limits.handshakeTimeoutMs);
        this.#options.connections.rest(socket);
      });
  }

  async #open(current: EntranceGate, request: ConnectRequest, socket: Socket): Promise<Tunnel> {
    const authority = parseAuthority(request.target, 443);
    if (!authority || !/:\d+$/.test(request.target)) {
      throw new GatewayError('VALIDATION_FAILED', 'CONNECT takes host:port.');
    }
    const clientAddress = peerAddress(socket);
    const { proxyAuthorization } = readRequestHead(
      request.fields,
      current.names.requestPrefix,
      current.config.limits.maxHeaders,
    );
    const { user, tenant, owner } = await authenticateProxyUser(current, proxyAuthorization, clientAddress);
    const turnBack = async (error: GatewayError): Promise<GatewayError> =>
      inProxyTerms(await rejectEarly(current, connectAsCall(authority, user.key, clientAddress), error));
    if (!tenant) throw await turnBack(keyRefused());
    const blocked = whyBlocked(current.guard, authority);
    if (blocked) throw await turnBack(blocked);
    this.#options.connections.claim(socket, owner, current.tenants.connectionBounds(tenant.id));
    return {
      scheme: 'https',
      ...authority,
      ...user,
      tenantId: tenant.id,
      owner,
      clientAddress,
      serverName: '',
      lastHead: noHead(),
    };
  }

  #establish(socket: Socket, head: Buffer, tunnel: Tunnel): void {
    if (socket.destroyed) return;
    socket.write(established());
    socket.setTimeout(this.#options.gate().config.limits.handshakeTimeoutMs, () => socket.destroy());
    if (head.length > 0) socket.unshift(head);
    socket.once('readable', () => {
      const first: Buffer | null = socket.read();
      // The client has left. Nobody would read the end of its side, and the connection would count until it
      // is late.
      if (!first) {
        socket.destroy();
        return;
      }
      socket.unshift(first);
      if (first[0] === tlsHandshake) {
        this.#secure(socket, tunnel).catch((error: Error) => {
          socket.destroy();
          const host = this.#options.gate().safeName(tunnel.tenantId, tunnel.host);
          this.#options.log.debug({ host, err: error.cause ?? error }, 'a tunnel ended in its TLS');
        });
      } else if (isMethodStart(first[0] ?? 0)) {
        socket.setTimeout(0);
        const isHttp2 = first.toString('latin1', 0, http2Start.length) === http2Start;
        this.#options.serve(socket, { ...tunnel, scheme: 'http' }, { isHttp2 });
      } else {
        socket.destroy();
        const host = this.#options.gate().safeName(tunnel.tenantId, tunnel.host);
        this.#options.log.debug({ host }, 'a tunnel began with neither TLS nor HTTP');
      }
    });
  }

  async #secure(socket: Socket, tunnel: Tunnel): Promise<void> {
    socket.setTimeout(0);
    const secured = await acceptTls(socket, {
      secureContext: this.#options.contexts.contextFor(tunnel.host),
      alpnProtocols,
      timeoutMs: this.#options.gate().config.limits.handshakeTimeoutMs,
    });
    secured.on('error', () => secured.destroy());
    this.#options.serve(secured, { ...tunnel, serverName: nameInHandshake(secured) });
  }

  async #pass(
    current: EntranceGate,
    { fields }: ConnectRequest,
    socket: Socket,
    head: Buffer,
    tunnel: Tunnel,
  ): Promise<void> {
    const passed = await passThrough(current, fields, socket, tunnel);
    if ('error' in passed) {
      if (passed.error.code === 'INTERNAL')
        this.#options.log.error({ err: passed.error.cause }, 'a call failed');
      refuse(socket, passed.error, this.#options.gate().config.limits.handshakeTimeoutMs, passed.headers);
      return;
    }
    const { call, upstream, headers } = passed;
    if (socket.destroyed) {
      upstream.destroy();
      socket.destroy();
      return;
    }
    socket.write(established(headers));
    if (head.length > 0) socket.unshift(head);
    const { traceId, clientAddress, identity } = call;
    const { host, port, key } = tunnel;
    const owner = { traceId, key, identity, clientAddress, host, port };
    this.#options.joined.join(socket, upstream, owner);
  }
}

/** Returns a refused CONNECT as a call: nothing of what the tunnel would have carried is known. */
function connectAsCall(
  { host, port }: { readonly host: string; readonly port: number },
  key: PresentedKey,
  clientAddress: string,
): ReceivedCall {
  const nowMs = Date.now();
  return bareCall({
    entrance: 'forward',
    receivedAtMs: nowMs,
    clientAddress,
    key,
    method: 'CONNECT',
    target: targetWithin('https', host, port, '/'),
  });
}

/**
 * Returns the name in a handshake, normalised. A name that cannot be read stays as it is: it agrees with no
 * host.
 */
function nameInHandshake(secured: TLSSocket): string {
  const name = secured.servername || '';
  return normaliseHost(name) ?? name;
}

const isMethodStart = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;

/**
 * Answers a refused CONNECT on the bare socket, since no server speaks HTTP on it any more. The socket is
 * destroyed after `lingerMs`.
 */
function refuse(
  socket: Socket,
  error: GatewayError,
  lingerMs: number,
  headers: readonly string[] = [],
): void {
  // The server's own clocks have let go of this socket: a client that neither reads nor closes would keep it
  // for ever.
  setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.resume();
  socket.end(rawProblem(error, headers));
}
