import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { type IssuedCertificate, testAuthority } from './certificates.ts';

/*
 * Upstreams for tests: real servers on loopback, with a certificate of an authority that is made for the process. They record
 * what arrives and answer as they are told.
 */

/** What tests of tap offer and this needs. */
interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Of its connection, counted from 1: equal numbers mean a kept connection. */
  readonly connection: number;
}

/** Called when the body is there. */
export type UpstreamHandler = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  body: Buffer,
) => void | Promise<void>;

export interface UpstreamServerOptions {
  /** Plain HTTP where false. */
  readonly tls?: boolean;
  /** Instead of a good one for `localhost`, `*.test.example`, `127.0.0.1` and `::1`. */
  readonly certificate?: IssuedCertificate;
  /** Default 127.0.0.1. */
  readonly address?: string;
  /** HTTP/2 over TLS and nothing else; for what that calls a connection, all requests count as those of one. */
  readonly http2?: boolean;
  /** Takes what goes on in WebSocket, over HTTP/2 too (RFC 8441); its opening is recorded. */
  readonly onWebSocket?: (socket: Duplex) => void;
  /** Says who answers a request while its body comes, if anybody; it is recorded without the body. */
  readonly early?: (request: http.IncomingMessage) => http.RequestListener | undefined;
}

export interface TestServer {
  readonly port: number;
  /** `https://localhost:PORT` */
  readonly origin: string;
  /** The authority that the certificate leads to. */
  readonly caPem: string;
  /** The same as a file, removed at teardown. */
  readonly caFile: string;
  /** Accepted so far. */
  connections(): number;
  /** Cuts all connections and stops listening. Also done at teardown. */
  close(): Promise<void>;
}

export interface TestUpstream extends TestServer {
  /** In the order in which they were read to their end. */
  readonly requests: readonly RecordedRequest[];
}

const answerOk: UpstreamHandler = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end('{"ok":true}');
};

/** Starts an HTTP upstream; TLS unless told otherwise. It ends with the test. */
export async function startUpstream(
  t: Test,
  handler: UpstreamHandler = answerOk,
  options: UpstreamServerOptions = {},
): Promise<TestUpstream> {
  const requests: RecordedRequest[] = [];
  const numbers = new WeakMap<net.Socket, number>();
  const recordOf = (request: http.IncomingMessage, body: Buffer): void => {
    const { method = '', url = '', headers, rawHeaders } = request;
    requests.push({ method, url, headers, rawHeaders, body, connection: numbers.get(request.socket) ?? 0 });
  };
  const listener = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const early = options.early?.(request);
    if (early) {
      recordOf(request, Buffer.alloc(0));
      early(request, response);
      return;
    }
    const body = Buffer.concat(await request.toArray());
    recordOf(request, body);
    await handler(request, response, body);
  };
  const onRequest: http.RequestListener = (request, response) => {
    // A handler that fails, or a client that leaves in the middle of its body: the connection says so.
    listener(request, response).catch(() => response.destroy());
  };
  const isTls = options.tls ?? true;
  const server = createServer(options, onRequest);
  const { onWebSocket } = options;
  if (onWebSocket) {
    server.on('upgrade', (request: http.IncomingMessage, socket: Duplex) => {
      recordOf(request, Buffer.alloc(0));
      const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${webSocketGuid}`);
      const fields = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept.digest('base64')}`;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\n`);
      onWebSocket(socket);
    });
    server.on('connect', (request: http.IncomingMessage, response: unknown) => {
      recordOf(request, Buffer.alloc(0));
      const { stream } = response as http2.Http2ServerResponse;
      stream.respond({ ':status': 200 });
      onWebSocket(stream);
    });
  }
  let connections = 0;
  server.on(isTls ? 'secureConnection' : 'connection', (socket: net.Socket) =>
    numbers.set(socket, ++connections),
  );
  return { requests, ...(await start(t, server, isTls, options.address)) };
}

/** RFC 6455, 1.3. */
const webSocketGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

function createServer(options: UpstreamServerOptions, onRequest: http.RequestListener): net.Server {
  if (options.tls === false) return http.createServer(onRequest);
  if (!options.http2) return https.createServer(credentials(options.certificate), onRequest);
  const settings = { enableConnectProtocol: options.onWebSocket !== undefined };
  // Node's HTTP/2 server speaks the words of its HTTP/1.1 server, though their types are not related.
  return http2.createSecureServer({ ...credentials(options.certificate), settings }, onRequest as never);
}

/** Starts an upstream that speaks bytes: for answers that no HTTP library would write. */
export async function startRawUpstream(
  t: Test,
  onConnection: (socket: net.Socket, number: number) => void,
  options: UpstreamServerOptions = {},
): Promise<TestServer> {
  let connections = 0;
  const listener = (socket: net.Socket) => {
    socket.on('error', () => socket.destroy());
    onConnection(socket, ++connections);
  };
  const isTls = options.tls ?? true;
  const server = isTls
    ? tls.createServer(credentials(options.certificate), listener)
    : net.createServer(listener);
  return await start(t, server, isTls, options.address);
}

export interface WebSocketUpstream extends TestServer {
  /** The requests of the handshakes. */
  readonly handshakes: readonly http.IncomingMessage[];
  readonly server: net.Server;
}

/**
 * Starts an upstream that takes WebSocket, over HTTP/1.1 also where it speaks HTTP/2; TLS unless told otherwise. It would compress, and
 * chooses the first subprotocol.
 */
export async function startWebSocketUpstream(
  t: Test,
  onSocket: (socket: WebSocket, request: http.IncomingMessage) => void,
  options: UpstreamServerOptions & {
    readonly isHttp2?: boolean;
    /** Lines that stand in the answer to a handshake besides. */
    readonly linesFor?: (request: http.IncomingMessage) => readonly string[];
  } = {},
): Promise<WebSocketUpstream> {
  const handshakes: http.IncomingMessage[] = [];
  const isTls = options.tls ?? true;
  const server = options.isHttp2
    ? http2.createSecureServer({ ...credentials(options.certificate), allowHTTP1: true })
    : isTls
      ? https.createServer(credentials(options.certificate))
      : http.createServer();
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  sockets.on('headers', (lines, request) => lines.push(...(options.linesFor?.(request) ?? [])));
  server.on('upgrade', (request: http.IncomingMessage, socket: net.Socket, head: Buffer) => {
    handshakes.push(request);
    sockets.handleUpgrade(request, socket, head, (it) => {
      // What a client does to it is for the test to see in its close code.
      it.on('error', () => {});
      onSocket(it, request);
    });
  });
  return { handshakes, server, ...(await start(t, server, isTls, options.address)) };
}

export interface Http2Upstream extends TestServer {
  /** In the order in which they began, as `METHOD path`. */
  readonly requests: readonly string[];
}

/** Starts an upstream that speaks HTTP/2, over TLS and without HTTP/1.1 unless told otherwise. */
export async function startHttp2Upstream(
  t: Test,
  onStream: (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void,
  options: UpstreamServerOptions & { readonly settings?: http2.Settings } = {},
): Promise<Http2Upstream> {
  const requests: string[] = [];
  const isTls = options.tls ?? true;
  const settings = options.settings ? { settings: options.settings } : {};
  const server = isTls
    ? http2.createSecureServer({ ...credentials(options.certificate), ...settings })
    : http2.createServer(settings);
  server.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
    // What a client does to a stream is for the test to see.
    stream.on('error', () => stream.destroy());
    requests.push(`${headers[':method']} ${headers[':path']}`);
    onStream(stream, headers);
  });
  return { requests, ...(await start(t, server, isTls, options.address)) };
}

let usual: IssuedCertificate | undefined;

function credentials(certificate?: IssuedCertificate) {
  usual ??= testAuthority().issue();
  const { certPem, keyPem } = certificate ?? usual;
  return { cert: certPem, key: keyPem };
}

async function start(
  t: Test,
  server: net.Server,
  isTls: boolean,
  address = '127.0.0.1',
): Promise<TestServer> {
  const sockets = new Set<net.Socket>();
  let accepted = 0;
  server.on('connection', (socket: net.Socket) => {
    accepted++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // What a client does to a handshake is for the test to see at the client.
  server.on('tlsClientError', () => {});
  const folder = mkdtempSync(join(tmpdir(), 'postern-upstream-'));
  const close = async () => {
    rmSync(folder, { recursive: true, force: true });
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  t.teardown(close);
  const caPem = testAuthority().certPem;
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, caPem);
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `${isTls ? 'https' : 'http'}://localhost:${port}`;
  return { port, origin, caPem, caFile, connections: () => accepted, close };
}
