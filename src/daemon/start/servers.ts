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

/** Holds the listening servers, and all connections: those that they take, and those inside their tunnels. */
export class Servers {
  readonly #gate: () => Gate;
  readonly #tls: ListenersTls;
  readonly #log: Log;
  // Each listener counts its own, so that clients who fill one leave the other open.
  readonly #connectionsOf;
  readonly #webSockets;
  readonly #standing;
  // Bodies take memory wherever they come in, so both listeners have one ledger.
  readonly #bodies;
  readonly #sockets = new Set<Socket>();
  readonly #agents;
  readonly #joined;
  readonly #tunnels;
  readonly #api;
  readonly #page;
  readonly #outside;
  readonly #besideApi;
  readonly #listeners: { readonly listener: Listener; readonly name: 'proxy' | 'control' }[] = [];
  readonly #isTold;

  constructor(gate: () => Gate, authority: Authority, tls: ListenersTls, log: Log) {
    this.#gate = gate;
    this.#tls = tls;
    this.#log = log;
    this.#connectionsOf = { proxy: newConnections(gate), control: newConnections(gate) };
    this.#standing = createStanding(gate, log);
    this.#bodies = createBodyLedger(() => this.#limits().maxBodyBytesTotal);
    this.#webSockets = createWebSockets(gate, this.#bodies, log);
    const forward = createForward(
      gate,
      {
        connections: this.#connectionsOf.proxy,
        bodies: this.#bodies,
        webSockets: this.#webSockets,
        standing: this.#standing,
      },
      log,
    );
    this.#agents = createAgentConnections(() => this.#limits());
    this.#joined = createJoinedTunnels(gate, this.#standing, log);
    this.#tunnels = new ConnectEntrance({
      joined: this.#joined,
      gate,
      contexts: createContexts(authority, { now: Date.now }),
      connections: this.#connectionsOf.proxy,
      log,
      serve: (socket, tunnel, speaks) =>
        this.#agents.serve(socket, (exchange) => forward(exchange, tunnel), speaks),
    });
    this.#api = createRouter(apiRoutes, gate, {
      connections: this.#connectionsOf.control,
      bodies: this.#bodies,
      log,
    });
    this.#page = createConsole(log);
    this.#outside = this.#besideInbound(this.#connectionsOf.proxy, (exchange) =>
      forward(exchange, undefined),
    );
    this.#besideApi = this.#besideInbound(
      this.#connectionsOf.control,
      (exchange) => this.#administer(exchange),
      withoutOrigin,
    );
    this.#isTold = gate().config.proxy.proxyProtocol;
  }

  newProxy(): Server {
    return this.#track(
      createListener(
        (socket) =>
          this.#agents.serve(socket, this.#outside, {
            onConnect: (...asked) => this.#tunnels.connect(...asked),
          }),
        {
          limits: () => this.#limits(),
          isTold: this.#isTold,
          tls: this.#tls.proxy,
          connections: this.#connectionsOf.proxy,
          addressOf: (socket) => this.#addressOf(socket),
        },
      ),
      'proxy',
    );
  }

  newControl(): Server {
    return this.#track(
      createListener((socket) => this.#agents.serve(socket, (exchange) => this.#control(exchange)), {
        limits: () => this.#limits(),
        isTold: false,
        tls: this.#tls.control,
        connections: this.#connectionsOf.control,
        addressOf: (socket) => this.#addressOf(socket),
      }),
      'control',
    );
  }

  /** Makes new connections see these certificates. */
  showTls(next: ListenersTls): void {
    for (const { listener, name } of this.#listeners) {
      const shown = next[name];
      if (shown) listener.showTls(shown);
    }
  }

  async drain(graceMs: number): Promise<void> {
    this.#webSockets.drain();
    this.#joined.drain();
    await drain(this.#serving(), this.#agents, this.#sockets, graceMs);
  }

  close(): void {
    for (const server of this.#serving()) server.close();
    this.#agents.close();
    this.#joined.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #limits() {
    return this.#gate().config.limits;
  }

  /** Returns what serves inbound routes, which both listeners have, and hands other requests to `serve`. */
  #besideInbound(
    connections: Connections,
    serve: (exchange: Exchange) => void,
    answerFields?: readonly string[],
  ) {
    const inbound = createInbound(
      this.#gate,
      {
        connections,
        bodies: this.#bodies,
        webSockets: this.#webSockets,
        standing: this.#standing,
        answerFields,
      },
      this.#log,
    );
    return (exchange: Exchange): void => {
      const { socket, answer } = exchange;
      if (connections.begin(socket)) answer.once('close', () => connections.rest(socket));
      if (isInbound(exchange.target)) inbound(exchange);
      else serve(exchange);
    };
  }

  #administer(exchange: Exchange): void {
    if (isConsole(exchange)) this.#page(exchange);
    else this.#api(exchange);
  }

  #control(exchange: Exchange): void {
    const refusal = isInbound(exchange.target) ? whyShownAsPage(exchange.fields) : undefined;
    if (refusal) answerProblem(exchange, refusal, []);
    else this.#besideApi(exchange);
  }

  #addressOf(socket: Socket): string | undefined {
    return countedAddress(socket, this.#gate().config.control.trustedProxies);
  }

  #serving() {
    return this.#listeners.map(({ listener }) => listener.server);
  }

  #track(listener: Listener, name: 'proxy' | 'control'): Server {
    listener.server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#listeners.push({ listener, name });
    return listener.server;
  }
}

const newConnections = (gate: () => Gate): Connections =>
  new Connections(() => gate().config.limits.maxConnections);

/**
 * Stops listening and waits for at most `graceMs` until every request has its answer. Idle connections are
 * closed at once.
 */
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
