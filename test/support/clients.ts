import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import type { Socket } from 'node:net';
import tls from 'node:tls';

/** What a program printed; never rejects for an exit code. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { env: { ...process.env, ...env }, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
      },
    );
  });
}

export interface TunnelTarget {
  readonly proxyUrl: string;
  /** The whole field, `Basic …` or `Bearer …`; absent: none is sent. */
  readonly authorization?: string;
  /** host:port */
  readonly authority: string;
}

/** CONNECT by Node's own client; the socket is the raw tunnel where it was opened. */
export function openTunnel({ proxyUrl, authorization, authority }: TunnelTarget): Promise<{
  status: number;
  headers: http.IncomingHttpHeaders;
  socket: Socket;
}> {
  const { hostname, port } = new URL(proxyUrl);
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: hostname,
      port,
      method: 'CONNECT',
      path: authority,
      headers: authorization === undefined ? {} : { 'proxy-authorization': authorization },
    });
    request.once('connect', (response, socket, head) => {
      // What came in one segment with the answer belongs to the tunnel.
      if (head.length > 0) socket.unshift(head);
      // What a server does to a tunnel is for the test to see in what it reads.
      socket.on('error', () => socket.destroy());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, socket });
    });
    request.once('error', reject);
    request.end();
  });
}

/** A tunnel with TLS inside it, verified against `ca`; the name in the certificate only where `options` are given. */
export async function openSecureTunnel(
  target: TunnelTarget & { ca: string; serverName?: string },
  options: tls.ConnectionOptions = { checkServerIdentity: () => undefined },
): Promise<tls.TLSSocket> {
  const { socket, status } = await openTunnel(target);
  if (status !== 200) throw new Error(`CONNECT answered ${status}`);
  const servername = target.serverName ?? target.authority.replace(/:\d+$/, '');
  return new Promise((resolve, reject) => {
    const secured = tls.connect({ socket, servername, ca: target.ca, ...options });
    secured.once('secureConnect', () => resolve(secured));
    secured.once('error', reject);
  });
}

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers?: NodeJS.Dict<string>;
}

/** One request on an open connection, which stays open. */
export function send(
  socket: Socket,
  options: { method?: string; path: string; headers?: http.OutgoingHttpHeaders; body?: Buffer | string },
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = http.request({
      createConnection: () => socket,
      method: options.method ?? 'GET',
      path: options.path,
      headers: { connection: 'keep-alive', ...options.headers },
    });
    request.once('error', reject);
    request.once('response', (response) => {
      response.toArray().then(
        (chunks) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
            trailers: response.trailers,
          }),
        reject,
      );
    });
    request.end(options.body);
  });
}

export const basic = (key: string, user = 'agent'): string =>
  `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`;

/** HTTP/2 inside a tunnel. The session is the test's to close. */
export async function openHttp2Tunnel(
  target: TunnelTarget & { ca: string },
  options: http2.ClientSessionOptions = {},
): Promise<http2.ClientHttp2Session> {
  const secured = await openSecureTunnel(target, { ALPNProtocols: ['h2'] });
  const session = http2.connect(`https://${target.authority}`, {
    ...options,
    createConnection: () => secured,
  });
  // What a server does to it is for the test to see in its streams.
  session.on('error', () => session.destroy());
  return session;
}

export interface StreamReply {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: http2.IncomingHttpHeaders;
}

/** One request on a session. Rejects where the stream is reset before its answer is whole. */
export async function sendOnStream(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<StreamReply> {
  const stream = session.request(headers, { endStream: body === undefined });
  let trailers: http2.IncomingHttpHeaders = {};
  stream.on('trailers', (it) => {
    trailers = it;
  });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const answered = once(stream, 'response');
  if (body !== undefined) stream.end(body);
  const [answer] = (await answered) as [http2.IncomingHttpHeaders & { ':status'?: number }];
  if (!stream.readableEnded) await once(stream, 'end');
  if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) throw new Error(`reset: ${stream.rstCode}`);
  return { status: Number(answer[':status']), headers: answer, body: Buffer.concat(chunks), trailers };
}
