import { once } from 'node:events';
import http from 'node:http';
import type http2 from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { basic, openHttp2Tunnel, openSecureTunnel, openTunnel } from '../../support/clients.ts';
import type { TestGateway } from '../../support/gateway.ts';

/* The ways by which a client comes to the gateway, each a real connection of its protocol. */

/** One request, as all protocols can say it. */
export interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** In place of a body: what is sent as it comes, over HTTP/2 only. */
  readonly messages?: Readable;
  /** Asks to go on in WebSocket. */
  readonly isWebSocket?: boolean;
  /** The body is sent once `100 Continue` has come, and never without it. */
  readonly awaitsContinue?: boolean;
}

/** What the client hears of its answer. */
export interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** Flows only while it is read. */
  readonly body: Readable;
  /** The statuses of the interim answers before it. */
  readonly interim: readonly number[];
  /** In place of a body: the connection or stream, once it goes on in WebSocket. */
  readonly switched?: Duplex;
  /** Known when the body has ended. */
  trailers(): Readonly<Record<string, unknown>>;
}

/** The origin that a client wants to reach, by the name that leads to it. */
export interface Destination {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** The prefix of the inbound route that leads there. */
  readonly route: string;
}

export interface Way {
  readonly name: string;
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  /** Undefined where there is such a way to the destination, else why there is none. */
  whyNot?(to: Destination): string | undefined;
  /** Sends the request on a connection of its own, which ends with the test. */
  call(lab: WayLab, to: Destination, asked: Asked): Promise<Heard>;
}

export interface WayLab {
  readonly gateway: TestGateway;
  readonly ca: string;
  teardown(close: () => void): void;
}

/** Fields about one connection, which no next one may see (RFC 9110, 7.6.1). */
const hopByHop = {
  connection: 'keep-alive, x-hop',
  'x-hop': 'no',
  'proxy-connection': 'keep-alive',
  te: 'trailers',
} as const;

const portOf = ({ scheme }: Destination): number => (scheme === 'http' ? 80 : 443);

export const ways: readonly Way[] = [
  {
    name: 'HTTP/1.1 in absolute-form',
    protocol: 'HTTP/1.1',
    call({ gateway, teardown }, { scheme, host }, asked) {
      const headers = { host, 'proxy-authorization': basic(gateway.key), ...hopByHop };
      const path = `${scheme}://${host}${asked.path}`;
      return callByHttp1(
        { ...listenerOf(gateway.proxyUrl), agent: false },
        { ...asked, path },
        headers,
        teardown,
      );
    },
  },
  {
    name: 'HTTP/1.1 in a tunnel',
    protocol: 'HTTP/1.1',
    async call(lab, to, asked) {
      const socket = await tunnelTo(lab, to);
      const options = { createConnection: () => socket };
      return callByHttp1(options, asked, { host: to.host, ...hopByHop }, lab.teardown);
    },
  },
  {
    name: 'HTTP/2 in a tunnel',
    protocol: 'HTTP/2',
    whyNot: ({ scheme }) =>
      scheme === 'http' ? 'browsers and SDKs speak HTTP/2 over TLS only, and so does the gateway' : undefined,
    async call({ gateway, ca, teardown }, to, asked) {
      const session = await openHttp2Tunnel({ ...proxied(gateway, to), ca });
      teardown(() => session.destroy());
      return callByHttp2(session, asked);
    },
  },
  {
    name: 'HTTP/1.1 on an inbound route',
    protocol: 'HTTP/1.1',
    call({ gateway, teardown }, { route }, asked) {
      const headers = { authorization: `Bearer ${gateway.key}`, ...hopByHop };
      const path = `/inbound/${route}${asked.path}`;
      return callByHttp1(
        { ...listenerOf(gateway.controlUrl), agent: false },
        { ...asked, path },
        headers,
        teardown,
      );
    },
  },
];

function listenerOf(url: string): { host: string; port: string } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port };
}

const proxied = ({ proxyUrl, key }: TestGateway, to: Destination) => ({
  proxyUrl,
  authorization: basic(key),
  authority: `${to.host}:${portOf(to)}`,
});

/** In TLS where the origin is. */
export async function tunnelTo({ gateway, ca, teardown }: WayLab, to: Destination): Promise<Socket> {
  const target = proxied(gateway, to);
  const socket =
    to.scheme === 'https' ? await openSecureTunnel({ ...target, ca }) : (await openTunnel(target)).socket;
  teardown(() => socket.destroy());
  return socket;
}

/** Of the handshake (RFC 6455, 4.1), whose key need not be another one each time for a test. */
const upgradeFields = {
  connection: 'Upgrade, x-hop',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

async function callByHttp1(
  options: http.RequestOptions,
  { method = 'GET', path, headers, body, awaitsContinue = false, isWebSocket = false }: Asked,
  ofWay: http.OutgoingHttpHeaders,
  teardown: WayLab['teardown'],
): Promise<Heard> {
  const length = body ? { 'content-length': body.length } : {};
  const expected = awaitsContinue ? { expect: '100-continue' } : {};
  const request = http.request({
    ...options,
    method,
    path,
    headers: { ...length, ...expected, ...ofWay, ...(isWebSocket ? upgradeFields : {}), ...headers },
  });
  teardown(() => request.destroy());
  const interim: number[] = [];
  request.on('information', ({ statusCode }) => interim.push(statusCode));
  const answered = once(request, isWebSocket ? 'upgrade' : 'response') as Promise<
    [http.IncomingMessage, Duplex?]
  >;
  if (awaitsContinue) {
    request.flushHeaders();
    request.once('continue', () => request.end(body));
  } else request.end(body);
  const [answer, switched] = await answered;
  if (switched) teardown(() => switched.destroy());
  return {
    ...(switched ? { switched } : {}),
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    body: answer,
    interim,
    trailers: () => answer.trailers,
  };
}

async function callByHttp2(
  session: http2.ClientHttp2Session,
  { method = 'GET', path, headers, body, messages, awaitsContinue = false, isWebSocket = false }: Asked,
): Promise<Heard> {
  // RFC 8441, 3: only a server that has said so takes it.
  if (isWebSocket && !session.remoteSettings?.enableConnectProtocol) await once(session, 'remoteSettings');
  const opening = { ':method': 'CONNECT', ':protocol': 'websocket', 'sec-websocket-version': '13' };
  const length = body ? { 'content-length': body.length } : {};
  const expected = awaitsContinue ? { expect: '100-continue' } : {};
  const asked = {
    ':path': path,
    te: 'trailers',
    ...(isWebSocket ? opening : { ':method': method }),
    ...length,
    ...expected,
    ...headers,
  };
  const stream = session.request(asked, {
    endStream: !isWebSocket && body === undefined && messages === undefined,
  });
  const interim: number[] = [];
  stream.on('headers', (head) => interim.push(Number(head[':status'])));
  let trailers: http2.IncomingHttpHeaders = {};
  stream.on('trailers', (it) => {
    trailers = it;
  });
  const answered = once(stream, 'response') as Promise<[http2.IncomingHttpHeaders & { ':status'?: number }]>;
  if (awaitsContinue) stream.once('continue', () => stream.end(body));
  else if (messages) messages.pipe(stream);
  else if (body) stream.end(body);
  const [head] = await answered;
  return {
    ...(isWebSocket ? { switched: stream } : {}),
    status: Number(head[':status']),
    headers: head,
    body: stream,
    interim,
    trailers: () => trailers,
  };
}
