import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { GatewayError } from '../errors.ts';
import { tellPeerAddress } from '../http/peer-address.ts';
import { readProxyHeader } from '../http/proxy-header.ts';
import { Gathered } from '../http1/gathered.ts';
import { unmapped } from '../ranges.ts';
import { acceptTls } from '../tls/accept.ts';
import type { ListenerTls } from './listener-tls.ts';
import { refuseConnection } from './listeners.ts';

/*
 * A listener behind a load balancer that speaks the PROXY protocol. Every connection begins with its header, before TLS where there is
 * any, so the server is given its connections only when that was read. TLS is done here as well and not by a `https.Server`: of the
 * sockets that such a server makes nobody can tell which connection they stand on, and so whose address was told.
 */

export interface ToldConnectionsOptions {
  /** For the header, and then for the handshake. */
  readonly timeouts: () => { readonly headerTimeoutMs: number; readonly handshakeTimeoutMs: number };
  readonly tls: ListenerTls | undefined;
  /**
   * Hears of which address a connection is, undefined where that was not told, and as which socket it goes on. Answers why there is no place
   * for it.
   */
  readonly onTold: (socket: Socket, secured: Socket, address: string | undefined) => GatewayError | undefined;
}

export interface ToldConnections {
  /** New connections see these certificates. */
  showTls(tls: ListenerTls): void;
}

const alpnProtocols = ['http/1.1'];

/** Puts itself before a server that speaks plain HTTP. A connection without a header is closed without an answer. */
export function demandProxyHeader(
  server: Server,
  { timeouts, tls, onTold }: ToldConnectionsOptions,
): ToldConnections {
  const serve = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  let secureContext: SecureContext | undefined = tls && createSecureContext(tls);

  async function take(socket: Socket): Promise<void> {
    const address = await readHeader(socket, timeouts().headerTimeoutMs);
    const secured = secureContext
      ? await acceptTls(socket, { secureContext, alpnProtocols, timeoutMs: timeouts().handshakeTimeoutMs })
      : socket;
    if (secured.destroyed) return;
    if (address !== undefined) tellPeerAddress(secured, unmapped(address));
    const refusal = onTold(socket, secured, address);
    if (refusal) {
      refuseConnection(secured, refusal);
      return;
    }
    for (const it of serve) it.call(server, secured);
  }

  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    // It is closed then, and nobody has asked for anything yet.
    take(socket).catch(() => socket.destroy());
  });
  return {
    showTls(next) {
      secureContext = createSecureContext(next);
    },
  };
}

/** What the header of a connection tells; the bytes behind it stand in the socket to be read. Rejects for whatever is no header in time. */
function readHeader(socket: Socket, timeoutMs: number): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const gathered = new Gathered();
  const settle = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', fail).off('close', fail);
  };
  const fail = (): void => {
    settle();
    reject(new Error('The connection does not begin with a PROXY header.'));
  };
  const onReadable = (): void => {
    let header: ReturnType<typeof readProxyHeader>;
    while (!header) {
      const chunk: Buffer | null = socket.read();
      if (!chunk) return;
      gathered.add(chunk);
      header = readProxyHeader(gathered.peek());
    }
    if (header === 'malformed') fail();
    else {
      settle();
      const rest = gathered.take().subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      resolve(header.address);
    }
  };
  const timer = setTimeout(fail, timeoutMs);
  socket.on('readable', onReadable).on('end', fail).on('close', fail);
  return promise;
}
