import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenAddress } from '../config/addresses.ts';
import type { Config } from '../config/schema.ts';
import type { GatewayError } from '../errors.ts';
import type { Connections } from '../http/connections.ts';
import { NodeExchange } from '../http/node-exchange.ts';
import { noticeLeaving } from '../http/notice-leaving.ts';
import { answerProblem, rawProblem } from '../http/problem.ts';
import { headTooLarge, malformed, tooSlow, unmetExpectation } from '../http/request-problems.ts';
import { hasItem } from '../websocket/handshake.ts';
import type { ListenerTls } from './listener-tls.ts';

type Limits = Config['limits'];
type OnConnect = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

const connectionsCheckingIntervalMs = 1000;

const serverOptions = (limits: Limits): ServerOptions => ({
  maxHeaderSize: limits.maxHeaderBytes,
  headersTimeout: limits.headerTimeoutMs,
  requestTimeout: limits.headerTimeoutMs + limits.bodyTimeoutMs,
  keepAliveTimeout: limits.idleTimeoutMs,
  connectionsCheckingInterval: connectionsCheckingIntervalMs,
  // Host is checked by whoever knows what it must say.
  requireHostHeader: false,
  noDelay: true,
  // Whatever else a client would go on in, its request is answered in HTTP/1.1, and so is one whose connection owes an earlier answer.
  shouldUpgradeCallback: (request) => asksForWebSocket(request) && !runningOn(request.socket),
});

const asksForWebSocket = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMinor === 1 && hasItem(headers.upgrade ?? '', 'websocket');

/**
 * A server with the limits of the configuration, in TLS where it has a certificate: strict parser, bounded heads and times, a problem for
 * whatever is malformed.
 */
export function createHttpServer(
  limits: Limits,
  listener: (exchange: NodeExchange) => void,
  { tls, connect }: { readonly tls?: ListenerTls | undefined; readonly connect?: OnConnect } = {},
): Server {
  const take = (exchange: NodeExchange): void =>
    exchange.isFramedAlike ? listener(exchange) : answerProblem(exchange, malformed(), []);
  /** Those that end with the answer that is owed last. */
  const ending = new WeakSet<Socket>();
  const onRequest: RequestListener = (request, response) => {
    if (mayTake(request, response, ending)) take(new NodeExchange(request, response, false));
  };
  const options = serverOptions(limits);
  const server = tls
    ? createTlsServer({ ...options, ...tls, handshakeTimeout: limits.handshakeTimeoutMs }, onRequest)
    : createServer(options, onRequest);
  // One over the limit still arrives, so that too many are refused instead of silently cut.
  server.maxHeadersCount = limits.maxHeaders + 1;
  const unmet: RequestListener = (request, response) =>
    answerProblem(new NodeExchange(request, response, false), unmetExpectation(), []);
  const onUnmet: RequestListener = (request, response) => {
    if (mayTake(request, response, ending)) unmet(request, response);
  };
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (!mayTake(request, response, ending)) return;
    // Node takes it from any list that has it; what else stands there is not met.
    if (request.headers.expect?.toLowerCase() === '100-continue')
      take(new NodeExchange(request, response, true));
    else unmet(request, response);
  });
  server.on('checkExpectation', onUnmet);
  server.on('clientError', answerClientError);
  if (connect)
    server.on('connect', (request, socket, head) => {
      // Its answer would come in the middle of the one that is owed.
      if (ending.has(socket as Socket) || runningOn(socket)) socket.destroy();
      else connect(request, socket as Socket, head);
    });
  server.on('upgrade', (request, socket, early) =>
    take(upgradeExchange(request, socket as Socket, early, limits.headerTimeoutMs)),
  );
  return server;
}

/**
 * Whether a request is heard at all. Of what comes at once behind a request that asks for an upgrade Node reads nothing where it does not
 * grant it, and what comes after that it reads as the next request, from wherever it begins: so nothing behind such a request is one.
 */
function mayTake(
  { socket, headers }: IncomingMessage,
  response: ServerResponse,
  ending: WeakSet<Socket>,
): boolean {
  if (ending.has(socket)) return false;
  if (headers.upgrade !== undefined) {
    response.shouldKeepAlive = false;
    ending.add(socket);
  }
  return true;
}

/** Node's server has let go of the connection: it is answered, or handed over, and ends in any case. */
function upgradeExchange(
  request: IncomingMessage,
  socket: Socket,
  early: Buffer,
  lingerMs: number,
): NodeExchange {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  socket.on('error', () => socket.destroy());
  const letAlone = noticeLeaving(socket);
  response.once('finish', () => {
    letAlone();
    socket.end();
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
  return new NodeExchange(request, response, false, { early, letAlone });
}

/** The answer that is owed on a connection and not finished; Node keeps it here. */
const runningOn = (socket: Duplex): ServerResponse | undefined =>
  (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;

/** What the parser refuses is answered once, and the connection closed: nothing after it can be trusted. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  // An answer that is under way must not get a second one into its body.
  if (error.code === 'ECONNRESET' || !socket.writable || runningOn(socket)?.headersSent) {
    socket.destroy();
    return;
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? headTooLarge()
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? tooSlow()
        : malformed();
  socket.end(rawProblem(problem), () => socket.destroy());
}

/**
 * Counts the connections of a server; those for which there is no place are refused with an answer instead of silence. `addressOf` says for
 * which address one counts, as far as that is known when it arrives.
 */
export function limitConnections(
  server: Server,
  connections: Connections,
  addressOf: (socket: Socket) => string | undefined,
): void {
  /** Those of which Node's server makes others that speak TLS: nothing but the ports tells which stands on which. */
  const underTls = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const refusal = connections.arrive(socket) ?? connections.comeFrom(socket, addressOf(socket));
    if (!(server instanceof TlsServer)) {
      if (refusal) refuseConnection(socket, refusal);
      return;
    }
    // Who is about to speak TLS could not read an answer.
    if (refusal) {
      socket.destroy();
      return;
    }
    const ports = portsOf(socket);
    underTls.set(ports, socket);
    socket.once('close', () => {
      if (underTls.get(ports) === socket) underTls.delete(ports);
    });
  });
  if (server instanceof TlsServer)
    server.on('secureConnection', (secured: Socket) => {
      const under = underTls.get(portsOf(secured));
      if (under) connections.alias(under, secured);
    });
}

const portsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

/** Answers a connection for which there is no place, and closes it. */
export function refuseConnection(socket: Socket, refusal: GatewayError): void {
  socket.end(rawProblem(refusal), () => socket.destroy());
}

/** Listens; resolves with the address as a URL's authority (`127.0.0.1:8080`), or `unix:/path`. */
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
    : new Error(`cannot listen on ${place}: ${error.code ?? error.message}`, { cause: error });
}
