import { hasOverridingTarget, withoutOverridingTargets } from '../catalogue/overriding-target.ts';
import { type ReceivedCall, receivedCall } from '../core/call.ts';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { newTraceId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { bodyBytesMaxOf } from '../decision/body-limit.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { isGrpcType } from '../wire/grpc/grpc-type.ts';
import { whyHidesRequest } from '../wire/http1/body-as-request.ts';
import type { BodyLedger } from '../wire/server/body-ledger.ts';
import type { Connections } from '../wire/server/connections.ts';
import { refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import { webSocketVersion } from '../wire/websocket/handshake.ts';
import { type Addressed, addressedInside, addressedOutside, type Tunnel } from './addressed.ts';
import { claimedBy, inProxyTerms } from './authenticate.ts';
import { enforce, type Switched, type Way } from './enforce.ts';
import { receiveGrpc } from './grpc-call.ts';
import { type RequestHead, readRequestHead } from './request-head.ts';
import type { AccessMonitor } from './standing.ts';
import { type WebSockets, whyNoHandshake, withoutHandshake } from './websocket.ts';

/** State of the entrances that outlives a call. */
export interface Held {
  readonly connections: Connections;
  readonly bodies: BodyLedger;
  readonly webSockets: WebSockets;
  readonly standing: AccessMonitor;
}

/**
 * Returns the function that serves the forward proxy's requests. They come from inside a tunnel, or in
 * absolute-form (RFC 9112, 3.2.2) on the listener itself. Each is made a `ReceivedCall`, inspected, and sent
 * on or answered.
 */
export function createForward(gate: () => EntranceGate, held: Held, log: Log) {
  const openWebSocket = (opened: Switched): void => held.webSockets.open(opened, {});
  const entrance: Entrance = { ...held, gate, log, openWebSocket };
  return (exchange: Exchange, tunnel: Tunnel | undefined): void =>
    new ForwardedRequest(entrance, exchange, tunnel).start();
}

/** The state and functions that all requests of the entrance share. */
interface Entrance extends Held {
  readonly gate: () => EntranceGate;
  readonly log: Log;
  readonly openWebSocket: (opened: Switched) => void;
}

type ToCall = (body: Buffer, bodyBytesMax?: number, contentEncoding?: string) => ReceivedCall;

/** Takes one request to its verdict. */
class ForwardedRequest {
  readonly #entrance: Entrance;
  readonly #gate: EntranceGate;
  readonly #exchange: Exchange;
  readonly #tunnel: Tunnel | undefined;
  readonly #receivedAtMs = Date.now();
  readonly #traceId = newTraceId(this.#receivedAtMs);
  #wantsWebSocket = false;

  constructor(entrance: Entrance, exchange: Exchange, tunnel: Tunnel | undefined) {
    this.#entrance = entrance;
    this.#gate = entrance.gate();
    this.#exchange = exchange;
    this.#tunnel = tunnel;
  }

  start(): void {
    const gate = this.#gate;
    const exchange = this.#exchange;
    const tunnel = this.#tunnel;
    const { connections } = this.#entrance;
    exchange.answer.once('close', gate.enter());
    try {
      const { requestPrefix } = gate.names;
      const head = readRequestHead(exchange.fields, requestPrefix, gate.config.limits.maxHeaders);
      if (tunnel) {
        claimStream(gate, connections, exchange, tunnel);
        this.#proceed(head, addressedInside(gate, tunnel, exchange, head));
      } else
        addressedOutside(gate, connections, exchange, head)
          .then((from) => this.#proceed(head, from))
          .catch((error: unknown) => this.#refuse(error));
    } catch (error) {
      this.#refuse(error);
    }
  }

  #proceed(head: RequestHead, from: Addressed): void {
    const exchange = this.#exchange;
    const opensWebSocket = head.wantsWebSocket && exchange.maySwitch;
    this.#wantsWebSocket = opensWebSocket;
    const headers = headersFor(this.#gate, head, from);
    const toCall: ToCall = (body, bodyBytesMax, contentEncoding = head.contentEncoding) =>
      receivedCall({
        traceId: this.#traceId,
        entrance: 'forward',
        receivedAtMs: this.#receivedAtMs,
        clientAddress: from.clientAddress,
        key: from.key,
        method: exchange.method,
        target: from.target,
        headers: opensWebSocket ? withoutHandshake(headers) : headers,
        body,
        contentType: head.contentType,
        contentEncoding,
        claimed: claimedBy(head.claimed, from),
        lastHead: this.#tunnel?.lastHead,
        bodyBytesMax,
        opensWebSocket,
        isAwaited: () => !exchange.answer.destroyed,
      });
    const refusal = from.refusal ?? (opensWebSocket ? whyNoHandshake(exchange) : undefined);
    if (refusal) this.#rejectEarly(toCall(noBody), refusal);
    else if (!exchange.hasBody) this.#judge(toCall(noBody));
    else if (isGrpcType(head.contentType)) this.#receiveGrpc(head, from, toCall);
    else this.#collect(from, toCall);
  }

  #collect({ tenantId, owner, target }: Addressed, toCall: ToCall): void {
    const bodyless = () => toCall(noBody);
    const bytesMax = bodyBytesMaxOf(this.#gate, tenantId, { bodyless, target, isOneOfMany: false });
    const { isShared } = this.#gate.tenants.connectionBounds(tenantId);
    const timeoutMs = this.#gate.tenants.find(tenantId)?.bodyTimeoutMs;
    const room = this.#entrance.bodies.roomFor(this.#exchange.answer, owner, isShared);
    const failed = (error: GatewayError): void => this.#rejectEarly(bodyless(), error);
    const done = (body: Buffer): void => {
      const hidden = whyHidesRequest(this.#exchange.method, body);
      if (hidden) failed(hidden);
      else this.#judge(toCall(body, bytesMax));
    };
    this.#exchange.collect({ bytesMax, room, timeoutMs }, { done, failed });
  }

  #receiveGrpc(head: RequestHead, { tenantId, owner, target }: Addressed, toCall: ToCall): void {
    const bodyless = () => toCall(noBody);
    const bytesMax = bodyBytesMaxOf(this.#gate, tenantId, { bodyless, target, isOneOfMany: true });
    const { isShared } = this.#gate.tenants.connectionBounds(tenantId);
    receiveGrpc(this.#entrance.gate, this.#exchange, head, {
      bytesMax,
      room: this.#entrance.bodies.roomFor(this.#exchange.answer, owner, isShared),
      toCall: (body, contentEncoding) => toCall(body, bytesMax, contentEncoding),
      judge: (call, further) => this.#judge(call, further),
      failed: (error) => this.#rejectEarly(bodyless(), error),
    });
  }

  #judge(call: ReceivedCall, further?: Way['further']): void {
    const { standing, openWebSocket } = this.#entrance;
    const way = { standing, further, openWebSocket: this.#wantsWebSocket ? openWebSocket : undefined };
    judge(this.#gate, call, this.#exchange, way).catch((error: unknown) => this.#refuse(error));
  }

  #rejectEarly(call: ReceivedCall, error: GatewayError): void {
    const refuse = (thrown: unknown): void => this.#refuse(thrown);
    rejectEarly(this.#gate, call, error).then(refuse, refuse);
  }

  /** Answers with whatever went wrong before there was a verdict. */
  #refuse(thrown: unknown): void {
    const failure = toGatewayError(thrown);
    const traceId = this.#traceId;
    const tunnel = this.#tunnel;
    // Inside a tunnel, 401 says of the origin's answer what 407 says outside.
    const error = tunnel ? failure : inProxyTerms(failure);
    if (error.code === 'INTERNAL')
      this.#entrance.log.error({ trace_id: traceId, err: error.cause }, 'a call failed');
    // This says which version would do (RFC 6455, 4.4).
    const beside = this.#wantsWebSocket ? ['Sec-WebSocket-Version', webSocketVersion] : [];
    // A connection that was refused a place must not keep one until it is idle for long.
    const ending = !tunnel && error.code === 'GATEWAY_BUSY' ? ['Connection', 'close'] : [];
    const fields = refusalHeaders(this.#gate.names, traceId, error.code);
    answerProblem(this.#exchange, error, [...fields, ...beside, ...ending]);
  }
}

/**
 * Returns the fields of a call. Fields that name another URL are meant for servers behind one's own proxies.
 * For all other upstreams they are removed before the call is judged.
 */
const headersFor = (
  { isOwnUpstream }: EntranceGate,
  { headers }: RequestHead,
  { tenantId, target }: Addressed,
): readonly string[] =>
  hasOverridingTarget(headers) && !isOwnUpstream(tenantId, target.host)
    ? withoutOverridingTargets(headers)
    : headers;

/** Asks the pipeline and does what it says. Rejects where there is no verdict. */
async function judge(
  gate: EntranceGate,
  call: ReceivedCall,
  exchange: Exchange,
  way: Pick<Way, 'standing' | 'further' | 'openWebSocket'>,
): Promise<void> {
  const decided = await gate.inspect(call);
  const findCredential: Way['findCredential'] = (it) => gate.credentials.forCall(it);
  enforce(gate, decided, exchange, { ...way, findCredential });
}

const noBody = Buffer.alloc(0);

/**
 * Counts a stream for the owner of its tunnel. A tunnel counts as one connection, and each stream inside
 * counts as well, for each may hold a body.
 */
function claimStream(
  gate: EntranceGate,
  connections: Connections,
  { stream }: Exchange,
  tunnel: Tunnel,
): void {
  if (!stream) return;
  connections.claim(stream, tunnel.owner, gate.tenants.connectionBounds(tunnel.tenantId));
}
