import { readFileSync } from 'node:fs';
import http from 'node:http';
import { basic, openSecureTunnel, send } from '../../test/support/clients.ts';
import type { EgressCase, JsonRpcMessage } from './cases.ts';
import { type EgressLab, toolServer } from './gateway.ts';
import { isCutOff } from './websocket.ts';

interface Request {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** Sends what a case sends, one call behind the other, and tells whether the gateway stopped one of them. */
export async function isStopped(
  { id, category, payload }: EgressCase,
  lab: EgressLab,
  key: string,
): Promise<boolean> {
  const server = `${toolServer}/${id}`;
  const { url = server, method = 'GET', headers = {}, body, frames } = payload;
  const proxy = { proxyUrl: lab.gateway.proxyUrl, key, ca: readFileSync(lab.gateway.caFile, 'utf8') };
  if (frames) {
    const socket = await openTunnel(proxy, new URL(url));
    return socket === undefined || isCutOff(socket, new URL(url), frames);
  }
  const sent = (request: Omit<Request, 'headers'>, fields: Readonly<Record<string, string>> = {}) =>
    isRefused(proxy, { ...request, headers: { ...fields, 'x-case': id } });
  const answered = payload.response_body ?? (payload.agent_card && JSON.stringify(payload.agent_card));
  if (answered !== undefined) {
    lab.answers.set(id, answered);
    return sent({ url: payload.agent_card ? `${server}/.well-known/agent-card.json` : url, method: 'GET' });
  }
  for (const message of payload.jsonrpc_messages ?? []) {
    const isAnswer = message.result !== undefined;
    if (isAnswer) lab.answers.set(id, JSON.stringify(message));
    const request = {
      url: `${server}/${category.startsWith('a2a') ? 'a2a' : 'mcp'}`,
      method: 'POST',
      body: JSON.stringify(isAnswer ? requestOf(message) : message),
    };
    const fields = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    if (await sent(request, fields)) return true;
  }
  if (payload.jsonrpc_messages) return false;
  const type = payload.content_type === undefined ? {} : { 'content-type': payload.content_type };
  return sent({ url, method, body }, { ...headers, ...type });
}

/** Returns the request that a message answers. */
const requestOf = ({ id, result }: JsonRpcMessage): unknown =>
  typeof result === 'object' && result !== null && 'tools' in result
    ? { jsonrpc: '2.0', id, method: 'tools/list', params: {} }
    : { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'search', arguments: {} } };

interface Proxy {
  readonly proxyUrl: string;
  readonly key: string;
  readonly ca: string;
}

/** Tells whether a call is answered 403, which only the gateway does here. Throws where it is not answered. */
async function isRefused(proxy: Proxy, request: Request): Promise<boolean> {
  const url = new URL(request.url);
  if (url.protocol === 'http:') return (await sendClear(proxy, request)) === 403;
  const socket = await openTunnel(proxy, url);
  if (socket === undefined) return true;
  const { method, body } = request;
  // What `URL` would make canonical stands here as the agent writes it.
  const path = request.url.slice(request.url.indexOf('/', 'https://'.length)) || '/';
  const reply = await send(socket, {
    method,
    path,
    headers: headersOf(request, url),
    ...(body === undefined ? {} : { body }),
  });
  socket.destroy();
  return ended(reply.status);
}

/** Returns a tunnel with TLS in it; undefined where the gateway refuses to open it. */
async function openTunnel({ proxyUrl, key, ca }: Proxy, { hostname }: URL) {
  try {
    return await openSecureTunnel({ proxyUrl, authorization: basic(key), authority: `${hostname}:443`, ca });
  } catch (error) {
    if (String(error).includes('CONNECT answered 403')) return undefined;
    throw error;
  }
}

/** Sends a request in absolute form and returns the status of its answer. */
function sendClear({ proxyUrl, key }: Proxy, request: Request): Promise<number> {
  const { hostname, port } = new URL(proxyUrl);
  const headers = { ...headersOf(request, new URL(request.url)), 'proxy-authorization': basic(key) };
  return new Promise((resolve, reject) => {
    const sent = http.request({ host: hostname, port, method: request.method, path: request.url, headers });
    sent.once('error', reject);
    sent.once('response', (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.end(request.body);
  });
}

const headersOf = ({ headers, body }: Request, { host }: URL): http.OutgoingHttpHeaders => ({
  ...headers,
  host,
  ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
});

function ended(status: number): boolean {
  if (status >= 500) throw new Error(`the call was answered ${status}`);
  return status === 403;
}
