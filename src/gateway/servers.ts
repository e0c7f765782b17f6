import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { apiRoutes } from '../api/index.ts';
import { createRouter } from '../api/router.ts';
import { type AgentConnections, createAgentConnections } from '../http/agent-connections.ts';
import { type Connections, countedAddress, createConnections } from '../http/connections.ts';
import type { NodeExchange } from '../http/node-exchange.ts';
import type { Log } from '../log.ts';
import type { Gate } from '../pipeline/gate.ts';
import { createConnect } from '../proxy/connect.ts';
import { createForward } from '../proxy/forward.ts';
import { createInbound, isInbound } from '../proxy/inbound.ts';
import { createJoinedTunnels } from '../proxy/joined-tunnels.ts';
import { createStanding } from '../proxy/standing.ts';
import { createWebSockets } from '../proxy/websocket.ts';
import type { Authority } from '../tls/authority.ts';
import { createContexts } from '../tls/contexts.ts';
import type { ListenersTls, ListenerTls } from './listener-tls.ts';
import { createHttpServer, limitConnections } from './listeners.ts';
import { demandProxyHeader, type ToldConnections, type ToldConnectionsOptions } from './told-connections.ts';

/** The listening servers, and the connections inside their tunnels. */
export function openServers(gate: () => Gate, authority: Authority, tls: ListenersTls, log: Log) {
  const { limits } = gate().config;
  // Each listener has its own, so that whoever fills the one leaves the other open.
  const connectionsOf = { proxy: newConnections(gate), control: newConnections(gate) };
  const webSockets = createWebSockets(gate, log);
  const standing = createStanding(gate, log);
  const forward = createForward(gate, { connections: connectionsOf.proxy, webSockets, standing }, log);
  const sockets = new Set<Duplex>();
  const inside = createAgentConnections(() => gate().config.limits);
  const joined = createJoinedTunnels(gate, standing, log);
  const connect = createConnect({
    joined,
    gate,
    contexts: createContexts(authority, { now: Date.now }),
    connections: connectionsOf.proxy,
    log,
    serve: (socket, tunnel) => inside.serve(socket, (exchange) => forward(exchange, tunnel)),
  });
  const api = createRouter(apiRoutes, gate, { connections: connectionsOf.control, log });
  /** Inbound routes stand on both listeners, beside what else a listener serves. */
  const besideInbound = (connections: Connections, serve: (exchange: NodeExchange) => void) => {
    const inbound = createInbound(gate, { connections, webSockets, standing }, log);
    return (exchange: NodeExchange): void =>
      isInbound(exchange.target) ? inbound(exchange) : serve(exchange);
  };
  const serving = new Map<Server, 'proxy' | 'control'>();
  const told: ToldConnections[] = [];
  const track = (server: Server, listener: 'proxy' | 'control'): Server => {
    const addressOf = (socket: Socket): string | undefined =>
      // Behind a load balancer the address is told later.
      listener === 'proxy' && isTold
        ? undefined
        : countedAddress(socket, gate().config.control.trustedProxies);
    limitConnections(server, connectionsOf[listener], addressOf);
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    serving.set(server, listener);
    return server;
  };
  const isTold = gate().config.proxy.proxyProtocol;
  const timeouts = () => gate().config.limits;
  return {
    newProxy() {
      const connections = connectionsOf.proxy;
      const outside = besideInbound(connections, (exchange) => forward(exchange, undefined));
      const server = createHttpServer(limits, outside, { tls: isTold ? undefined : tls.proxy, connect });
      const onTold: ToldConnectionsOptions['onTold'] = (socket, secured, address) => {
        connections.alias(socket, secured);
        return connections.comeFrom(socket, address);
      };
      if (isTold) told.push(demandProxyHeader(server, { timeouts, tls: tls.proxy, onTold }));
      return track(server, 'proxy');
    },
    newControl() {
      const serve = besideInbound(connectionsOf.control, api);
      return track(createHttpServer(limits, serve, { tls: tls.control }), 'control');
    },
    /** New connections see these certificates. */
    showTls(next: ListenersTls): void {
      for (const [server, listener] of serving) {
        const shown: ListenerTls | undefined = next[listener];
        if (shown && server instanceof TlsServer) server.setSecureContext(shown);
      }
      if (next.proxy) for (const it of told) it.showTls(next.proxy);
    },
    async drain(graceMs: number): Promise<void> {
      webSockets.drain();
      joined.drain();
      await drain([...serving.keys()], inside, sockets, graceMs);
    },
    close(): void {
      for (const server of serving.keys()) server.close();
      inside.close();
      joined.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const newConnections = (gate: () => Gate): Connections =>
  createConnections(() => gate().config.limits.maxConnections);

/** Stops listening and waits until every running request has its answer. Idle connections are closed at once. */
async function drain(
  servers: readonly Server[],
  inside: AgentConnections,
  sockets: ReadonlySet<Duplex>,
  graceMs: number,
): Promise<void> {
  const closed = servers.map((server) => new Promise((done) => server.close(done)));
  inside.drain();
  const tick = setInterval(() => {
    for (const server of servers) server.closeIdleConnections();
  }, 50);
  const grace = AbortSignal.timeout(graceMs);
  await Promise.race([
    Promise.all(closed),
    new Promise((done) => grace.addEventListener('abort', done, { once: true })),
  ]);
  clearInterval(tick);
  for (const socket of sockets) socket.destroy();
}
