import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { isIP, type Socket } from 'node:net';
import tls from 'node:tls';

/* A client of the proxy, as agents are: it opens a tunnel, speaks TLS in it, and makes one call. */

export interface Through {
  readonly proxy: string;
  readonly ca: string;
}

interface Canary {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

export interface Seen {
  /** Status of the answer to CONNECT. */
  readonly connect: number;
  /** Tells whether the certificate in the tunnel is one of the gateway's. */
  readonly isRead: boolean;
  readonly status: number | undefined;
  readonly decision: string | undefined;
  /** Code of the problem that the gateway answered with; undefined where there was none. */
  readonly code: string | undefined;
}

const timeoutMs = 15_000;
const answerBytesMax = 256 * 1024;

/** Sends one call through the proxy. Rejects where the proxy cannot be reached or does not answer in time. */
export async function askThrough({ proxy, ca }: Through, canary: Canary): Promise<Seen> {
  const { connect, socket, body } = await openCanaryTunnel(new URL(proxy), `${canary.host}:${canary.port}`);
  const none = { connect, isRead: false, status: undefined, decision: undefined };
  if (!socket) return { ...none, code: codeIn(body) };
  try {
    const { host } = canary;
    const name = isIP(host) ? { host } : { servername: host };
    const trust = { ca: readFileSync(ca), rejectUnauthorized: false };
    const secured = tls.connect({ socket, ...name, ...trust });
    secured.setTimeout(timeoutMs, () => secured.destroy(new Error('no answer in time')));
    await once(secured, 'secureConnect');
    const isRead = secured.authorized;
    // An upstream behind a tunnel that is not read gets no canary.
    if (!isRead) return { ...none, code: undefined };
    return { connect, isRead, ...(await callIn(secured, canary)) };
  } finally {
    socket.destroy();
  }
}

/** Opens a tunnel. Where the proxy refuses, it returns the answer without a socket. */
export async function openCanaryTunnel(proxy: URL, authority: string) {
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  const request = (proxy.protocol === 'https:' ? https : http).request({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...(proxy.username === '' ? {} : { 'proxy-authorization': authorization }) },
    agent: false,
    timeout: timeoutMs,
  });
  request.once('timeout', () => request.destroy(new Error('the proxy does not answer in time')));
  request.end();
  const [response, socket, head] = (await once(request, 'connect')) as [http.IncomingMessage, Socket, Buffer];
  const connect = response.statusCode ?? 0;
  if (connect === 200) return { connect, socket, body: '' };
  let body = head.toString();
  socket.setTimeout(timeoutMs, () => socket.destroy());
  for await (const part of socket) {
    body += String(part);
    if (body.length > answerBytesMax) break;
  }
  socket.destroy();
  return { connect, socket: undefined, body };
}

async function callIn(secured: tls.TLSSocket, { host, method, path, body = '' }: Canary) {
  const request = http.request({
    createConnection: () => secured,
    method,
    path,
    headers: { host, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const part of response) {
    text += String(part);
    if (text.length > answerBytesMax) break;
  }
  const decision = Object.entries(response.headers).find(([name]) => /^x-.+-decision$/.test(name))?.[1];
  return {
    status: response.statusCode,
    decision: decision === undefined ? undefined : String(decision),
    code: codeIn(text),
  };
}

const codeIn = (text: string): string | undefined => /"code":"([A-Z_]{1,64})"/.exec(text)?.[1];
