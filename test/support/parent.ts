import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { IssuedCertificate } from './certificates.ts';

/* A parent proxy as small as can be: it opens the tunnels that it is asked for, and remembers what it was asked. */

interface Test {
  teardown(close: () => void | Promise<void>): void;
}

export interface AskedTunnel {
  readonly authority: string;
  readonly authorization: string | undefined;
}

export interface TestParent {
  readonly port: number;
  readonly asked: readonly AskedTunnel[];
  /** That stand now. */
  connections(): number;
}

export interface ParentSetup {
  readonly certificate?: IssuedCertificate;
  /** Answers in place of the tunnel that is asked for; what it leaves alone is opened. */
  readonly answer?: (socket: net.Socket, asked: AskedTunnel) => boolean;
  /** Where every tunnel ends in truth, whatever is asked for; default: where it is asked for. */
  readonly leadsTo?: number;
}

export async function startParent(t: Test, setup: ParentSetup = {}): Promise<TestParent> {
  const asked: AskedTunnel[] = [];
  const sockets = new Set<net.Socket>();
  const { certificate } = setup;
  const server = certificate
    ? https.createServer({ cert: certificate.certPem, key: certificate.keyPem })
    : http.createServer();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const it = { authority: request.url ?? '', authorization: request.headers['proxy-authorization'] };
    asked.push(it);
    if (setup.answer?.(socket, it)) return;
    const { hostname, port } = new URL(`http://${it.authority}`);
    const upstream = net.connect({
      host: setup.leadsTo === undefined ? hostname.replace(/^\[|\]$/g, '') : '127.0.0.1',
      port: setup.leadsTo ?? Number(port || 80),
    });
    sockets.add(upstream);
    upstream.once('close', () => {
      sockets.delete(upstream);
      socket.destroy();
    });
    socket.once('close', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    upstream.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      socket.pipe(upstream).pipe(socket);
    });
  });
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { asked, port: (server.address() as AddressInfo).port, connections: () => sockets.size };
}
