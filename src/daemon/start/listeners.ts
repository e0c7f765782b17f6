import { existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Config } from '../../config/schema.ts';
import type { ListenAddress } from '../../config/sections/addresses.ts';
import type { GatewayError } from '../../core/errors.ts';
import { unmapped } from '../../util/addresses.ts';
import { type Connections, untold } from '../../wire/server/connections.ts';
import { tellPeerAddress } from '../../wire/server/peer-address.ts';
import { rawProblem } from '../../wire/server/problem.ts';
import { acceptTls } from '../../wire/tls/accept.ts';
import type { ListenerTls } from './listener-tls.ts';
import { readToldAddress } from './told-address.ts';

interface ListenerOptions {
  readonly limits: () => Config['limits'];
  /**
   * Tells whether every connection must begin with a PROXY header. One without it is closed without an
   * answer.
   */
  readonly isTold: boolean;
  /** The TLS identity; undefined where plain text is spoken. */
  readonly tls: ListenerTls | undefined;
  /** The connections of this listener, which it counts. */
  readonly connections: Connections;
  /** Returns the address that a connection counts for until its client is known; undefined for none. */
  readonly addressOf: (socket: Socket) => string | undefined;
}

export type Listener = ReturnType<typeof createListener>;

const alpnProtocols = ['http/1.1', 'http/1.0'];

/**
 * Takes connections, and hands on those that speak HTTP. TLS is done here: a `tls.Server` would hide the
 * connection under a TLS socket, and so its told address.
 */
export function createListener(
  serve: (socket: Socket) => void,
  { limits, isTold, tls, connections, addressOf }: ListenerOptions,
) {
  let secureContext = tls && createSecureContext(tls);

  async function prepare(socket: Socket): Promise<void> {
    const address = isTold ? await readToldAddress(socket, limits().headerTimeoutMs) : undefined;
    const timeoutMs = limits().handshakeTimeoutMs;
    const secured = secureContext
      ? await acceptTls(socket, { secureContext, alpnProtocols, timeoutMs })
      : socket;
    if (secured.destroyed) return;
    connections.alias(socket, secured);
    if (address !== undefined) tellPeerAddress(secured, unmapped(address));
    // Behind a load balancer the address was not known when the connection arrived.
    const refusal = isTold ? connections.comeFrom(socket, address) : undefined;
    if (refusal) turnAway(secured, refusal);
    else serve(secured);
  }

  // A client may close its own side first; the code that speaks HTTP on the connection decides what that
  // means.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    const refusal =
      connections.arrive(socket) ?? connections.comeFrom(socket, isTold ? untold : addressOf(socket));
    // A client that is about to speak TLS could not read an answer.
    if (refusal && secureContext) socket.destroy();
    else if (refusal) turnAway(socket, refusal);
    else if (isTold || secureContext) prepare(socket).catch(() => socket.destroy());
    else serve(socket);
  });
  return {
    server,
    /** Makes new connections see these certificates. */
    showTls(next: ListenerTls) {
      if (secureContext) secureContext = createSecureContext(next);
    },
  };
}

/** Answers a connection that is refused, and closes it. */
function turnAway(socket: Socket, refusal: GatewayError): void {
  socket.resume();
  socket.end(rawProblem(refusal), () => socket.destroy());
}

/**
 * Makes the server listen at an address. Resolves with it as a URL's authority (`127.0.0.1:8080`), or
 * `unix:/path`. Rejects with a sentence on why it cannot.
 */
export function listen(server: Server, address: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(toListenError(error, address)));
    const onListening = (): void => {
      const bound = server.address() as AddressInfo | string;
      if (typeof bound === 'string') resolve(`unix:${bound}`);
      else
        resolve(
          bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`,
        );
    };
    if (address.kind === 'unix') server.listen(address.path, onListening);
    else server.listen(address.port, address.host, onListening);
  });
}

function toListenError(error: NodeJS.ErrnoException, address: ListenAddress): Error {
  const place = address.kind === 'unix' ? address.path : `${address.host}:${address.port}`;
  return error.code === 'EADDRINUSE'
    ? new Error(
        `${place} is taken by another program; name another address in proxy.listen or control.listen.`,
        { cause: error },
      )
    : new Error(`cannot listen on ${place}: ${whyNot(error, address)}`, { cause: error });
}

/** Says in words why nobody can listen at an address. */
function whyNot({ code, message }: NodeJS.ErrnoException, address: ListenAddress): string {
  if (address.kind === 'unix') {
    const folder = dirname(address.path);
    if (!existsSync(folder)) return `the folder ${folder} does not exist; make it`;
    return code === 'EACCES' ? `this user may not write into ${folder}` : (code ?? message);
  }
  const known: Readonly<Record<string, string>> = {
    EACCES: 'this user may not; a port below 1024 needs the capability CAP_NET_BIND_SERVICE',
    EADDRNOTAVAIL: 'this machine does not have this address',
    ENOTFOUND: 'there is no such host',
  };
  return known[code ?? ''] ?? code ?? message;
}
