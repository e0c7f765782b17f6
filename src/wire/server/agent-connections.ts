import type { Socket } from 'node:net';
import { AgentConnection, type OnConnect } from './agent-connection.ts';
import { AgentSession, agreedOnHttp2 } from './agent-session.ts';
import type { Exchange } from './exchange.ts';
import { createStreamTurns } from './http2/stream-turns.ts';
import type { AllowedTicks, ConnectionLimits, Served, ServingContext } from './serving-context.ts';

export type AgentConnections = ReturnType<typeof createAgentConnections>;

const tickMsMin = 10;
const tickMsMax = 1000;
/**
 * Longest time for a client to read its last answer, or to send more of what is dropped, and to close its
 * side. It is never longer than that for a head.
 */
const lingerMsMax = 5000;
/** Times that in which a refused body may be sent to its end. */
const lingersMax = 6;

interface ServeOptions {
  /** Tells whether the client speaks HTTP/2. By default its TLS handshake says so. */
  readonly isHttp2?: boolean;
  readonly onConnect?: OnConnect;
}

/**
 * Creates the server's side of all connections of clients, on listeners and inside tunnels, under one coarse
 * clock. A timer for each would cost each request its setting and clearing. What is late is noticed up to two
 * ticks later, a quarter of the shortest limit each.
 */
export function createAgentConnections(limits: () => ConnectionLimits) {
  const open: Served[] = [];
  const turns = createStreamTurns();
  const { headerTimeoutMs, idleTimeoutMs } = limits();
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, Math.min(headerTimeoutMs, idleTimeoutMs) / 4));
  // The running tick is already partly over.
  const toTicks = (durationMs: number): number => Math.ceil(durationMs / tickMs) + 1;

  const context: { -readonly [key in keyof ServingContext]: ServingContext[key] } = {
    tick: 0,
    isDraining: false,
    keepAliveLines: toKeepAliveLines(idleTimeoutMs),
    limits,
    // The last connection takes the place. A Set would keep what was deleted from being collected early.
    delete(connection: Served): void {
      const last = open.pop();
      if (last === undefined || last === connection) return;
      open[connection.slot] = last;
      last.slot = connection.slot;
    },
  };

  const timer = setInterval(() => {
    const now = limits();
    const lingerMs = Math.min(lingerMsMax, now.headerTimeoutMs);
    const allowed: AllowedTicks = {
      head: toTicks(now.headerTimeoutMs),
      request: (bodyTimeoutMs = now.bodyTimeoutMs) => toTicks(now.headerTimeoutMs + bodyTimeoutMs),
      idle: toTicks(now.idleTimeoutMs),
      linger: toTicks(lingerMs),
      lingerInAll: toTicks(lingersMax * lingerMs),
    };
    context.keepAliveLines = toKeepAliveLines(now.idleTimeoutMs);
    context.tick++;
    for (let i = open.length - 1; i >= 0; i--) open[i]?.checkDeadline(allowed);
  }, tickMs);
  timer.unref();

  return {
    /**
     * Speaks HTTP on a connection from now on. Bytes that were peeked at are `unshift`ed before. Without
     * `onConnect` no tunnel can be asked for.
     */
    serve(
      socket: Socket,
      onExchange: (exchange: Exchange) => void,
      { isHttp2 = agreedOnHttp2(socket), onConnect }: ServeOptions = {},
    ) {
      // The `close` of this socket has come, or will come before anybody listens.
      if (socket.destroyed) return;
      const connection = isHttp2
        ? new AgentSession(socket, context, turns, onExchange)
        : new AgentConnection(socket, context, onExchange, onConnect);
      connection.slot = open.push(connection) - 1;
      if (context.isDraining) connection.drain();
    },
    /** Closes connections without a request at once, the others with their answer. */
    drain() {
      context.isDraining = true;
      for (const connection of [...open]) connection.drain();
    },
    /** Stops the clock. The caller closes the sockets. */
    close() {
      clearInterval(timer);
    },
  };
}

/**
 * Returns the last lines of a head, which tell the idle time, so that no client sends into a connection that
 * closes.
 */
const toKeepAliveLines = (idleTimeoutMs: number): string =>
  `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleTimeoutMs / 1000)}\r\n\r\n`;
