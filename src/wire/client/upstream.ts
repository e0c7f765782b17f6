import type { Socket } from 'node:net';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Target } from '../../core/target.ts';
import { isGrpcType } from '../grpc/grpc-type.ts';
import { mayBeUnread } from '../http1/body-as-request.ts';
import { fieldOf } from '../http1/headers.ts';
import { createTurnEnd } from '../http1/turn-end.ts';
import { toRequestHead } from '../http1/write-request-head.ts';
import type { Origin, Outgoing, StreamedBody } from './carrier.ts';
import { Dialer, type DialerOptions, type Endpoint, type Protocol } from './connect.ts';
import { authenticatesConnection } from './connection-auth.ts';
import { createDeadlines } from './deadlines.ts';
import { shuttingDown } from './failures.ts';
import { keptMsDefault } from './keep-alive.ts';
import { Pools } from './pools.ts';
import { type Forwarding, Relay, type RelayContext, type RelayOptions, type UpstreamWatch } from './relay.ts';
import { NoWebSocket } from './stream-carrier.ts';

/*
 * Sends requests that may go and relays the answers, over HTTP/1.1 connections of our own. Together with our
 * own server side in tunnels that took a third off the CPU time of a call, measured against undici's
 * `Pool.dispatch`. HTTP/2 would double that time.
 */

export interface UpstreamOptions extends DialerOptions {
  /** Time from `forward`, or the last piece of the body that has left, to the head of the answer. */
  readonly responseTimeoutMs: number;
  /** Time between bytes after that, in either direction. */
  readonly idleTimeoutMs: number;
  /** Beginning, in lower case, of the header names in which the gateway speaks (`x-service-`). */
  readonly ownPrefix: string;
  /** When HTTP/2 is spoken. `auto`: for gRPC, which needs it, and with origins that speak nothing else. */
  readonly h2?: 'auto' | 'always' | 'never';
  readonly poolsMax?: number;
  readonly connectionsMax?: number;
  readonly waitingMax?: number;
  /** Connections that wait for their next request, of all hosts together. */
  readonly idleMax?: number;
  readonly poolIdleMs?: number;
  /** Time for which a connection is kept for its next request where the upstream does not say. */
  readonly keptMs?: number;
  readonly watch?: UpstreamWatch | undefined;
}

export interface UpstreamRequest {
  /**
   * Tenant whose call it is. What a call finds or leaves on a connection is never met by another tenant's.
   */
  readonly tenantId: string;
  /** Agent of the key, which shares its HTTP/2 sessions with no other one: it can have them ended. */
  readonly agentId: string;
  readonly target: Target;
  readonly method: string;
  /** Flat fields that are ready to send: made by `toUpstreamHeaders`. */
  readonly headers: string[];
  readonly body: Buffer | undefined;
  /** Body that is sent as it comes, in place of `body`. It needs HTTP/2, and is never sent twice. */
  readonly messages?: StreamedBody | undefined;
  /**
   * Tells whether the request asks to go on in WebSocket. Its headers have the fields that HTTP/1.1 wants for
   * that.
   */
  readonly isWebSocket?: boolean;
}

export class Upstream {
  readonly #h2;
  readonly #deadlines;
  readonly #dialer;
  readonly #pools;
  readonly #context: RelayContext;
  #isClosing = false;

  constructor(options: UpstreamOptions) {
    const { poolsMax = 1024, connectionsMax = 128, waitingMax = 1024, idleMax = 4096 } = options;
    const { poolIdleMs = 300_000, keptMs = keptMsDefault, h2 = 'auto' } = options;
    this.#h2 = h2;
    const shortestMs = Math.min(options.responseTimeoutMs, options.idleTimeoutMs, poolIdleMs, keptMs);
    this.#deadlines = createDeadlines(shortestMs, (tick) => this.#pools.sweep(tick));
    const turnEnd = createTurnEnd();
    this.#dialer = new Dialer(options);
    this.#pools = new Pools({
      guard: options.guard,
      dialer: this.#dialer,
      deadlines: this.#deadlines,
      turnEnd,
      mayFallBack: h2 === 'auto',
      originsMax: poolsMax,
      connectionsMax,
      waitingMax,
      idleMax,
      keptMs,
      idleTicks: this.#deadlines.toTicks(poolIdleMs),
    });
    this.#context = {
      deadlines: this.#deadlines,
      turnEnd,
      responseTicks: this.#deadlines.toTicks(options.responseTimeoutMs),
      idleTicks: this.#deadlines.toTicks(options.idleTimeoutMs),
      ownPrefix: options.ownPrefix,
      watch: options.watch,
    };
  }

  /**
   * Sends the request and relays its answer. Follows no redirect. Repeats a request once when a kept
   * connection was closed under it, if its method is idempotent. The request has been judged: nothing of it
   * is judged here but where it leads.
   */
  forward(request: UpstreamRequest, relayOptions: RelayOptions): Forwarding {
    // The client has left while its call was judged, and its `close` does not come again.
    if (relayOptions.response.destroyed) {
      relayOptions.onEnd?.({ status: 0, receivedBytes: 0, aborted: true });
      return nothingSent;
    }
    const protocol = this.#protocolFor(request.headers);
    return request.isWebSocket && protocol === 'h2'
      ? this.#forwardByEither(request, relayOptions)
      : this.#forwardBy(protocol, request, relayOptions);
  }

  /** Opens a connection for any protocol, which the caller closes. Throws as `Dialer.dial` does. */
  async connect({ host, port }: Pick<Endpoint, 'host' | 'port'>): Promise<Socket> {
    if (this.#isClosing) throw shuttingDown();
    return this.#dialer.dial({ scheme: 'tcp', host, port }, 'http/1.1');
  }

  /** Takes no more requests (SHUTTING_DOWN) and waits for the running ones; `destroy` cuts that short. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#pools.close();
    await this.#deadlines.whenIdle();
    this.#deadlines.close();
  }

  /** Ends all requests at once. */
  destroy(): void {
    this.#isClosing = true;
    this.#pools.destroy();
    this.#deadlines.failAll(shuttingDown());
    this.#deadlines.close();
  }

  #protocolFor(headers: readonly string[]): Protocol {
    if (this.#h2 !== 'auto') return this.#h2 === 'always' ? 'h2' : 'http/1.1';
    return isGrpcType(fieldOf(headers, 'content-type')) ? 'h2' : 'http/1.1';
  }

  #prepare(request: UpstreamRequest, protocol: Protocol): [Origin, Outgoing] {
    if (this.#isClosing) throw shuttingDown();
    const { tenantId, agentId, target, method, headers, body, messages, isWebSocket = false } = request;
    const isAlone = body !== undefined && mayBeUnread(method, body);
    const fields = isAlone ? [...headers, 'Connection', 'close'] : headers;
    const head = toRequestHead(method, target.path, fields, body?.length ?? 0);
    const isAuthenticating = authenticatesConnection(headers);
    if (messages && protocol !== 'h2') throw cannotStream();
    const purpose = isWebSocket ? 'websocket' : 'calls';
    const origin = this.#pools.take(tenantId, target, protocol, purpose, this.#deadlines.tick);
    return [
      origin,
      { agentId, method, target, headers, head, body, messages, isWebSocket, isAlone, isAuthenticating },
    ];
  }

  #forwardBy(protocol: Protocol, request: UpstreamRequest, relayOptions: RelayOptions): Forwarding {
    let prepared: [Origin, Outgoing];
    try {
      prepared = this.#prepare(request, protocol);
    } catch (error) {
      relayOptions.onError(toGatewayError(error));
      return nothingSent;
    }
    const [origin, outgoing] = prepared;
    const relay = new Relay(outgoing, relayOptions, this.#context, origin);
    relay.start();
    return relay;
  }

  /**
   * Asks for WebSocket over HTTP/2, and over HTTP/1.1 where that is refused. Most servers that speak HTTP/2
   * take WebSocket over HTTP/1.1 alone.
   */
  #forwardByEither(request: UpstreamRequest, relayOptions: RelayOptions): Forwarding {
    let second: Forwarding | undefined;
    const onError = (error: GatewayError): void => {
      if (error.cause instanceof NoWebSocket) second = this.#forwardBy('http/1.1', request, relayOptions);
      else relayOptions.onError(error);
    };
    const first = this.#forwardBy('h2', request, { ...relayOptions, onError });
    return { abort: () => (second ?? first).abort() };
  }
}

const cannotStream = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'A body that is sent as it comes needs HTTP/2, which `upstream.h2` rules out.',
  );

const nothingSent: Forwarding = { abort: () => {} };
