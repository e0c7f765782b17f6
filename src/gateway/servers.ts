import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { apiRoutes } from '../api/index.ts';
import { createRouter } from '../api/router.ts';
import type { Log } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { createConnect } from '../proxy/connect.ts';
import { createForward, type Tunnel } from '../proxy/forward.ts';
import { createKeyConnections } from '../proxy/key-connections.ts';
import type { Authority } from '../tls/authority.ts';
import { createContexts } from '../tls/contexts.ts';
import { createHttpServer, createInnerServer, limitConnections } from './listeners.ts';

/** The listening servers and the inner one that tunnels are handed to. */
export function openServers(gate: () => Gate, authority: Authority, log: Log) {
  const { limits } = gate().config;
  const connections = createKeyConnections();
  const forward = createForward(gate, connections, log);
  const tunnels = new WeakMap<object, Tunnel>();
  const sockets = new Set<Duplex>();
  const inner = createInnerServer(limits, (request, response) =>
    forward(request, response, tunnels.get(request.socket)),
  );
  const connect = createConnect({
    gate,
    contexts: createContexts(authority, { now: Date.now }),
    connections,
    log,
    serve(socket, tunnel) {
      tunnels.set(socket, tunnel);
      inner.emit('connection', socket);
    },
  });
  const api = createRouter(apiRoutes, gate, log);
  const servers: Server[] = [];
  const track = (server: Server): Server => {
    limitConnections(server, () => gate().config.limits.maxConnections);
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    servers.push(server);
    return server;
  };
  return {
    newProxy: () =>
      track(
        createHttpServer(limits, (request, response) => forward(request, response, undefined)).on(
          'connect',
          connect,
        ),
      ),
    newControl: () => track(createHttpServer(limits, api)),
    async drain(graceMs: number): Promise<void> {
      await drain(servers, inner, sockets, graceMs);
    },
    close(): void {
      for (const server of servers) server.close();
      inner.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Stops listening and waits until every running request has its answer. Idle connections are closed at once. */
async function drain(
  servers: readonly Server[],
  inner: Server,
  sockets: ReadonlySet<Duplex>,
  graceMs: number,
): Promise<void> {
  const closed = servers.map((server) => new Promise((done) => server.close(done)));
  const tick = setInterval(() => {
    for (const server of [...servers, inner]) server.closeIdleConnections();
  }, 50);
  const grace = AbortSignal.timeout(graceMs);
  await Promise.race([
    Promise.all(closed),
    new Promise((done) => grace.addEventListener('abort', done, { once: true })),
  ]);
  clearInterval(tick);
  for (const socket of sockets) socket.destroy();
}
