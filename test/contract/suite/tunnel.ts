import type { OutgoingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { basic, openSecureTunnel, openTunnel, send } from '../../support/clients.ts';
import type { Lab, Reply } from './lab.ts';

/* Calls over the forward proxy, as clients make them: CONNECT, TLS inside, then requests. */

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

type Proxy = Pick<Lab, 'proxyUrl' | 'caPem'>;

/** A tunnel to the host that stays open; `as` is the key, or the whole field of Proxy-Authorization. */
export function tunnelTo({ proxyUrl, caPem }: Proxy, host: string, as: string): Promise<TLSSocket> {
  const authorization = as.includes(' ') ? as : basic(as);
  return openSecureTunnel({ proxyUrl, authorization, authority: `${host}:443`, ca: caPem });
}

/** One request in the tunnel, whose JSON is read. */
export async function ask(socket: TLSSocket, host: string, sent: Sent = {}): Promise<Reply> {
  const headers = { host, ...sent.headers };
  const reply = await send(socket, { path: '/x', ...sent, headers });
  const text = reply.body.toString();
  const isJson = /json/.test(reply.headers['content-type'] ?? '');
  return {
    status: reply.status,
    headers: new Headers(
      Object.entries(reply.headers).map(([name, value]): [string, string] => [name, String(value)]),
    ),
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}

/** One request in a tunnel of its own. */
export async function proxied(lab: Proxy, host: string, as: string, sent: Sent = {}): Promise<Reply> {
  const socket = await tunnelTo(lab, host, as);
  try {
    return await ask(socket, host, sent);
  } finally {
    socket.destroy();
  }
}

/** What CONNECT is answered; the tunnel, where there is one, is closed. */
export async function connect(lab: Pick<Lab, 'proxyUrl'>, authority: string, authorization?: string) {
  const target = { proxyUrl: lab.proxyUrl, authority };
  const { socket, ...answer } = await openTunnel(
    authorization === undefined ? target : { ...target, authorization },
  );
  socket.destroy();
  return answer;
}
