import type { Socket } from 'node:net';
import { AgentConnection, type AllowedTicks, type ConnectionContext } from './agent-connection.ts';
import type { Exchange } from './exchange.ts';

export interface ConnectionLimits {
  /** Of the request line and all fields together. */
  readonly maxHeaderBytes: number;
  readonly maxHeaders: number;
  /** For a head, from its first byte; for the first one from the beginning of the connection. */
  readonly headerTimeoutMs: number;
  /** For a body, beyond what its head might have taken. */
  readonly bodyTimeoutMs: number;
  /** Between requests, and for the end of an answer to be taken. */
  readonly idleTimeoutMs: number;
}

export interface AgentConnections {
  /** Speaks HTTP/1.1 on a connection from now on; bytes that were peeked at are `unshift`ed before. */
  serve(socket: Socket, onExchange: (exchange: Exchange) => void): void;
  /** Closes connections without a request at once, the others with their answer. */
  drain(): void;
  /** Stops the clock: the sockets are the caller's to close. */
  close(): void;
}

const tickMsMin = 10;
const tickMsMax = 1000;
/** For a client to read its last answer and to close its side; never more than it has for a head. */
const lingerMsMax = 5000;

/**
 * All connections inside tunnels, under one coarse clock: a timer for each would cost each request its setting and clearing. What is
 * late is noticed up to two ticks later, a quarter of the shortest limit each.
 */
export function createAgentConnections(limits: () => ConnectionLimits): AgentConnections {
  const open: AgentConnection[] = [];
  const { headerTimeoutMs, idleTimeoutMs } = limits();
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, Math.min(headerTimeoutMs, idleTimeoutMs) / 4));
  // The running tick is already partly over.
  const toTicks = (durationMs: number): number => Math.ceil(durationMs / tickMs) + 1;

  const context: { -readonly [key in keyof ConnectionContext]: ConnectionContext[key] } = {
    tick: 0,
    isDraining: false,
    keepAliveLines: toKeepAliveLines(idleTimeoutMs),
    limits,
    // The last one takes the place. Not a Set: those keep what was deleted from being collected early.
    delete(connection: AgentConnection): void {
      const last = open.pop();
      if (last === undefined || last === connection) return;
      open[connection.slot] = last;
      last.slot = connection.slot;
    },
  };

  const timer = setInterval(() => {
    const now = limits();
    const allowed: AllowedTicks = {
      head: toTicks(now.headerTimeoutMs),
      request: toTicks(now.headerTimeoutMs + now.bodyTimeoutMs),
      idle: toTicks(now.idleTimeoutMs),
      linger: toTicks(Math.min(lingerMsMax, now.headerTimeoutMs)),
    };
    context.keepAliveLines = toKeepAliveLines(now.idleTimeoutMs);
    context.tick++;
    for (let i = open.length - 1; i >= 0; i--) open[i]?.checkDeadline(allowed);
  }, tickMs);
  timer.unref();

  return {
    serve(socket, onExchange) {
      // Its `close` has come, or will come before anybody listens.
      if (socket.destroyed) return;
      const connection = new AgentConnection(socket, context, onExchange);
      connection.slot = open.push(connection) - 1;
      if (context.isDraining) connection.drain();
    },
    drain() {
      context.isDraining = true;
      for (const connection of [...open]) connection.drain();
    },
    close() {
      clearInterval(timer);
    },
  };
}

/** So that a client does not send its next request into a connection that is just being closed for idling. */
const toKeepAliveLines = (idleTimeoutMs: number): string =>
  `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(idleTimeoutMs / 1000)}\r\n\r\n`;
