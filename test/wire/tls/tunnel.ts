import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import * as tls from 'node:tls';
import type { Test } from 'tap';
import { parseAuthority } from '../../../src/core/target.ts';
import { acceptTls } from '../../../src/wire/tls/accept.ts';
import { type Authority, openAuthority } from '../../../src/wire/tls/authority.ts';
import { createContexts } from '../../../src/wire/tls/contexts.ts';
import { pathsIn } from './test-ca.ts';

/** A new authority in the test's own folder. */
export function testAuthority(t: Test, nowMs = Date.now()): Authority {
  return openAuthority({ ...pathsIn(t.testdir()), nowMs });
}

/**
 * A proxy that takes CONNECT to any host, ends TLS itself, and answers each request with the host of the
 * tunnel, the SNI, the cipher suite and whether the session was resumed. Nothing is dialled. Resolves to its port on 127.0.0.1.
 */
export async function openTunnels(t: Test, authority: Authority): Promise<number> {
  const contexts = createContexts(authority, { now: Date.now });
  const inner = createServer((request, response) => {
    const socket = request.socket as tls.TLSSocket;
    const { servername } = socket;
    const resumed = socket.isSessionReused();
    const suite = socket.getCipher().name;
    const host = hosts.get(request.socket);
    response.setHeader('connection', 'close').end(JSON.stringify({ host, servername, suite, resumed }));
  });
  const hosts = new WeakMap<Socket, string>();
  const proxy = createServer();
  const sockets = new Set<Socket>();
  proxy.on('connection', (socket) => sockets.add(socket));
  proxy.on('connect', (request, duplex, head) => {
    const socket = duplex as Socket;
    const target = parseAuthority(request.url ?? '', 443);
    if (!target) return socket.destroy();
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.unshift(head);
    const secureContext = contexts.contextFor(target.host);
    acceptTls(socket, { secureContext, alpnProtocols: ['http/1.1'], timeoutMs: 10_000 }).then(
      (secure) => {
        hosts.set(secure, target.host);
        inner.emit('connection', secure);
      },
      () => {}, // the client tells why it did not like us
    );
  });
  proxy.listen(0, '127.0.0.1');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  await once(proxy, 'listening');
  return portOf(proxy);
}

export function portOf(server: { address(): unknown }): number {
  return (server.address() as { port: number }).port;
}

export interface Visit {
  readonly answer: { host: string; servername: string | false; suite: string; resumed: boolean };
  /** For the next visit; undefined where the server gave none. */
  readonly session: Buffer | undefined;
}

/** One GET through a tunnel by Node's own TLS, which verifies the certificate for `host`. */
export async function visit(port: number, host: string, options: tls.ConnectionOptions): Promise<Visit> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${host.includes(':') ? `[${host}]` : host}:443 HTTP/1.1\r\n\r\n`);
  await once(socket, 'data');
  const secure = tls.connect({ socket, host, ...options });
  let session: Buffer | undefined;
  secure.on('session', (given: Buffer) => {
    session = given;
  });
  secure.write(`GET / HTTP/1.1\r\nHost: ${host.includes(':') ? `[${host}]` : host}\r\n\r\n`);
  let text = '';
  secure.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  await once(secure, 'end');
  secure.destroy();
  return { answer: JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)), session };
}
