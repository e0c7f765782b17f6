import type { Server, Socket } from 'node:net';
import { apiRoutes } from '../../api/index.ts';
import { createRouter } from '../../api/router.ts';
import { createConsole, isConsole } from '../../console/console.ts';
import type { Log } from '../../core/log.ts';
import type { Gate } from '../../decision/gate.ts';
import { whyShownAsPage, withoutOrigin } from '../../proxy/browser-page.ts';
import { ConnectEntrance } from '../../proxy/connect.ts';
import { createForward } from '../../proxy/forward.ts';
import { createInbound, isInbound } from '../../proxy/inbound.ts';
import { createJoinedTunnels } from '../../proxy/joined-tunnels.ts';
import { createStanding } from '../../proxy/standing.ts';
import { createWebSockets } from '../../proxy/websocket.ts';
import { type AgentConnections, createAgentConnections } from '../../wire/server/agent-connections.ts';
import { createBodyLedger } from '../../wire/server/body-ledger.ts';
import { Connections, countedAddress } from '../../wire/server/connections.ts';
import type { Exchange } from '../../wire/server/exchange.ts';
import { answerProblem } from '../../wire/server/problem.ts';
import type { Authority } from '../../wire/tls/authority.ts';
import { createContexts } from '../../wire/tls/contexts.ts';
import type { ListenersTls } from './listener-tls.ts';
import { createListener, type Listener } from './listeners.ts';

/** The listening servers, and all connections: those that they take, and those inside their tunnels. */
export function openServers(gate: () => Gate, authority: Authority, tls: ListenersTls, log: Log) {
  const limits = () => gate().config.limits;
  // Each listener has its own, so that whoever fills the one leaves the other open.
  const connectionsOf = { proxy: newConnections(gate), control: newConnections(gate) };
  const webSockets = createWebSockets(gate, log);
  const standing = createStanding(gate, log);
  // Bodies take memory wherever they come in: both listeners have one ledger.
  const bodies = createBodyLedger(() => limits().maxBodyBytesTotal);
  const forward = createForward(
    gate,
    { connections: connectionsOf.proxy, bodies, webSockets, standing },
    log,
  );
  const sockets = new Set<Socket>();
  const agents = createAgentConnections(limits);
  const joined = createJoinedTunnels(gate, standing, log);
  const tunnels = new ConnectEntrance({
    joined,
    gate,
    contexts: createContexts(authority, { now: Date.now }),
    connections: connectionsOf.proxy,
    log,
    serve: (socket, tunnel) => agents.serve(socket, (exchange) => forward(exchange, tunnel)),
  });
  const api = createRouter(apiRoutes, gate, { connections: connectionsOf.control, bodies, log });
  const page = createConsole(log);
  /** Inbound routes stand on both listeners, beside what else a listener serves. */
  const besideInbound = (
    connections: Connections,
    serve: (exchange: Exchange) => void,
    answerFields?: readonly string[],
  ) => {
    const inbound = createInbound(gate, { connections, bodies, webSockets, standing, answerFields }, log);
    return (exchange: Exchange): void => {
      const { socket, answer } = exchange;
      if (connections.begin(socket)) answer.once('close', () => connections.rest(socket));
      if (isInbound(exchange.target)) inbound(exchange);
      else serve(exchange);
    };
  };
  const outside = besideInbound(connectionsOf.proxy, (exchange) => forward(exchange, undefined));
  const administer = (exchange: Exchange): void =>
    isConsole(exchange.target) ? page(exchange) : api(exchange);
  const besideApi = besideInbound(connectionsOf.control, administer, withoutOrigin);
  const control = (exchange: Exchange): void => {
    const refusal = isInbound(exchange.target) ? whyShownAsPage(exchange.fields) : undefined;
    if (refusal) answerProblem(exchange, refusal, []);
    else besideApi(exchange);
  };
  const addressOf = (socket: Socket): string | undefined =>
    countedAddress(socket, gate().config.control.trustedProxies);
  const listeners: { readonly listener: Listener; readonly name: 'proxy' | 'control' }[] = [];
  const serving = () => listeners.map(({ listener }) => listener.server);
  const track = (listener: Listener, name: 'proxy' | 'control'): Server => {
    listener.server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    listeners.push({ listener, name });
    return listener.server;
  };
  const isTold = gate().config.proxy.proxyProtocol;
  return {
    newProxy: () =>
      track(
        createListener((socket) => agents.serve(socket, outside, (...asked) => tunnels.connect(...asked)), {
          limits,
          isTold,
          tls: tls.proxy,
          connections: connectionsOf.proxy,
          addressOf,
        }),
        'proxy',
      ),
    newControl: () =>
      track(
        createListener((socket) => agents.serve(socket, control), {
          limits,
          isTold: false,
          tls: tls.control,
          connections: connectionsOf.control,
          addressOf,
        }),
        'control',
      ),
    /** New connections see these certificates. */
    showTls(next: ListenersTls): void {
      for (const { listener, name } of listeners) {
        const shown = next[name];
        if (shown) listener.showTls(shown);
      }
    },
    async drain(graceMs: number): Promise<void> {
      webSockets.drain();
      joined.drain();
      await drain(serving(), agents, sockets, graceMs);
    },
    close(): void {
      for (const server of serving()) server.close();
      agents.close();
      joined.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const newConnections = (gate: () => Gate): Connections =>
  new Connections(() => gate().config.limits.maxConnections);

/** Stops listening and waits until every running request has its answer. Idle connections are closed at once. */
async function drain(
  servers: readonly Server[],
  agents: AgentConnections,
  sockets: ReadonlySet<Socket>,
  graceMs: number,
): Promise<void> {
  const closed = servers.map((server) => new Promise((done) => server.close(done)));
  agents.drain();
  const grace = AbortSignal.timeout(graceMs);
  await Promise.race([
    Promise.all(closed),
    new Promise((done) => grace.addEventListener('abort', done, { once: true })),
  ]);
  for (const socket of sockets) socket.destroy();
}
