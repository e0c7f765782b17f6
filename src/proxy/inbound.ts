import type { Socket } from 'node:net';
import type { InboundRoute } from '../config/schema.ts';
import {
  type Claimed,
  type ClassifiedCall,
  noHead,
  type ReadHead,
  type ReceivedCall,
  receivedCall,
} from '../core/call.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { newTraceId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { parseTarget, type Target } from '../core/target.ts';
import type { Injection } from '../credentials/injection.ts';
import { bodyBytesMaxOf } from '../decision/body-limit.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { classifyAs } from '../decision/stages/classify.ts';
import { whyBlocked } from '../wire/client/reach/guard.ts';
import { isGrpcType } from '../wire/grpc/grpc-type.ts';
import { whyHidesRequest } from '../wire/http1/body-as-request.ts';
import type { BodyRoom } from '../wire/server/body-ledger.ts';
import { clientAddressOf } from '../wire/server/client-address.ts';
import type { BodyBounds } from '../wire/server/collect.ts';
import { type ConnectionOwner, claimRequest } from '../wire/server/connections.ts';
import { refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import { withoutSession } from './browser-page.ts';
import { enforce, type FurtherBody } from './enforce.ts';
import { whyForeign } from './foreign.ts';
import type { Held } from './forward.ts';
import { receiveGrpc } from './grpc-call.ts';
import { maxDecodedBytes, whyMethodNotAllowed, whyPathNotAllowed } from './inbound-allowed.ts';
import { authenticateInbound, noRoute } from './inbound-auth.ts';
import { forUpstream } from './inbound-headers.ts';
import { type InboundPath, isInboundTarget, parseInboundPath, targetBelow } from './inbound-path.ts';
import { readRequestHead } from './request-head.ts';
import { createRouteCheck } from './route-check.ts';
import { whyNoHandshake, withoutHandshake } from './websocket.ts';

/** Tells whether `createInbound` answers a request target. */
export const isInbound = isInboundTarget;

/**
 * Returns the function that serves `/inbound/{prefix}/*` on both listeners, for agents that cannot use a
 * proxy. A request is judged like any other, and goes to the upstream of its route with the stored
 * credential. Every answer has the decision.
 */
export function createInbound(
  gate: () => EntranceGate,
  held: InboundHeld,
  log: Log,
): (exchange: Exchange) => void {
  const lastHeadOf = createLastHeads();
  return function inbound(exchange) {
    const current = gate();
    const receivedAtMs = Date.now();
    const traceId = newTraceId(receivedAtMs);
    exchange.answer.once('close', current.enter());
    const arrival = { exchange, traceId, receivedAtMs, gateNow: gate, lastHeadOf };
    serve(current, held, arrival).catch((thrown: unknown) => {
      const error = toGatewayError(thrown);
      if (error.code === 'INTERNAL') log.error({ trace_id: traceId, err: error.cause }, 'a call failed');
      // A connection that was refused a place must not keep one until it is idle for long.
      const ending = error.code === 'GATEWAY_BUSY' ? ['Connection', 'close'] : [];
      answerProblem(exchange, error, [...refusalHeaders(current.names, traceId, error.code), ...ending]);
    });
  };
}

interface InboundHeld extends Held {
  /** Fields for all answers of upstreams on this listener. */
  readonly answerFields?: readonly string[] | undefined;
}

interface Arrival {
  readonly exchange: Exchange;
  readonly traceId: string;
  readonly receivedAtMs: number;
  /** Returns the gate in force, for messages that come later. */
  readonly gateNow: () => EntranceGate;
  readonly lastHeadOf: (connection: Socket, tenantId: string) => ReadHead;
}

/**
 * Returns a function that keeps the last head which was read on each connection, for one tenant at a time.
 */
function createLastHeads(): Arrival['lastHeadOf'] {
  const heads = new WeakMap<Socket, { readonly tenantId: string; readonly head: ReadHead }>();
  return (connection, tenantId) => {
    const known = heads.get(connection);
    if (known?.tenantId === tenantId) return known.head;
    const head = noHead();
    heads.set(connection, { tenantId, head });
    return head;
  };
}

/**
 * Finds out who calls which route, and has the call judged. It waits only where it must, which spares turns
 * of the job queue.
 */
async function serve(
  gate: EntranceGate,
  held: InboundHeld,
  { exchange, traceId, receivedAtMs, gateNow, lastHeadOf }: Arrival,
): Promise<void> {
  const path = parseInboundPath(exchange.target);
  if (!path) throw noRoute();
  const found = gate.routes.find(path.prefix);
  const route: InboundRoute | undefined = found instanceof Promise ? await found : found;
  const clientAddress = clientAddressOf(exchange, gate.config.control.trustedProxies);
  const head = readRequestHead(exchange.fields, gate.names.requestPrefix, gate.config.limits.maxHeaders);
  const shown = { headers: withoutSession(forUpstream(head.headers)), query: path.query, clientAddress };
  const known = authenticateInbound(gate, route, shown, receivedAtMs);
  const { key, headers, query, owner, refusal } = known instanceof Promise ? await known : known;
  const wantsWebSocket = head.wantsWebSocket && exchange.maySwitch;
  const claimed = route ? claimedFor(route, head.claimed) : {};
  // The target of a route is for its tenant to know, and an invalid key may be of another one.
  const target =
    refusal || !route
      ? parseTarget(gate.controlUrl)
      : targetBelow(route.upstream, { rest: path.rest, query });
  const toCall = (
    body: Buffer,
    bodyBytesMax?: number,
    contentEncoding = head.contentEncoding,
  ): ReceivedCall =>
    receivedCall({
      traceId,
      entrance: 'inbound',
      receivedAtMs,
      clientAddress,
      key,
      method: exchange.method,
      target,
      headers: wantsWebSocket ? withoutHandshake(headers) : headers,
      body,
      contentType: head.contentType,
      contentEncoding,
      claimed,
      lastHead: route && lastHeadOf(exchange.socket, route.tenantId),
      bodyBytesMax,
      wayCredential: route?.credential ?? null,
      opensWebSocket: wantsWebSocket,
      isAnonymous: route?.auth.type === 'none',
      isAwaited: () => !exchange.answer.destroyed,
    });
  if (refusal || !route) throw await rejectEarly(gate, toCall(noBody), refusal ?? noRoute());
  const { contentType } = head;
  await passOn(gate, held, {
    exchange,
    route,
    path,
    owner,
    target,
    contentType,
    wantsWebSocket,
    gateNow,
    toCall,
  });
}

interface Passing {
  readonly exchange: Exchange;
  readonly route: InboundRoute;
  readonly path: InboundPath;
  readonly owner: ConnectionOwner;
  readonly target: Target;
  readonly contentType: string;
  readonly wantsWebSocket: boolean;
  readonly gateNow: () => EntranceGate;
  toCall(body: Buffer, bodyBytesMax?: number, contentEncoding?: string): ReceivedCall;
}

/**
 * Checks that the route takes what its caller asks for, reads the body, and has the call judged. Rejects
 * where the call is refused.
 */
async function passOn(gate: EntranceGate, held: InboundHeld, passing: Passing): Promise<void> {
  const { exchange, route, path, owner, target, contentType, wantsWebSocket, toCall } = passing;
  const bodyless = (): ReceivedCall => toCall(noBody);
  const turnBack = async (error: unknown): Promise<never> => {
    const call = bodyless();
    const classified = classifyByRoute(gate, call, route, path);
    throw await rejectEarly(gate, classified ?? call, toGatewayError(error));
  };
  const refused =
    whyForeign(gate, route, exchange.fields) ??
    whyMethodNotAllowed(gate, route, bodyless) ??
    whyPathNotAllowed(route, path) ??
    whyBlocked(gate.guard, target) ??
    (wantsWebSocket ? whyNoHandshake(exchange) : undefined);
  if (refused) return turnBack(refused);
  const bounds = gate.tenants.connectionBounds(route.tenantId);
  const { trustedProxies } = gate.config.control;
  claimRequest(held.connections, exchange, owner, { bounds, trustedProxies });
  const isGrpc = isGrpcType(contentType);
  const bytesMax = bodyBytesMaxOf(gate, route.tenantId, {
    toolName: route.tool ?? undefined,
    bodyless,
    wayMax: route.maxBodyBytes ?? undefined,
    target,
    isOneOfMany: isGrpc,
  });
  const room = held.bodies.roomFor(exchange.answer, owner, bounds.isShared);
  if (exchange.hasBody && isGrpc)
    await receiveMessages(gate, held, passing, { bodyless: bodyless(), bytesMax, room, turnBack });
  else {
    const timeoutMs = gate.tenants.find(route.tenantId)?.bodyTimeoutMs;
    const body = exchange.hasBody
      ? await readBody(exchange, { bytesMax, room, timeoutMs }).catch(turnBack)
      : noBody;
    const hidden = whyHidesRequest(exchange.method, body);
    if (hidden) return turnBack(hidden);
    const call = toCall(body, bytesMax);
    const opening: void | Promise<void> = gate.open(call);
    if (opening instanceof Promise) await opening;
    // A form may name another method, so the body is checked, too.
    const refusedByBody = whyMethodNotAllowed(gate, route, () => call);
    if (refusedByBody) return turnBack(refusedByBody);
    await judge(gate, held, passing, { call });
  }
}

interface GrpcArrival {
  readonly bodyless: ReceivedCall;
  readonly bytesMax: number;
  readonly room: BodyRoom;
  turnBack(error: unknown): Promise<never>;
}

/** Reads a call of gRPC, message by message. Resolves when the first message was judged. */
function receiveMessages(
  gate: EntranceGate,
  held: InboundHeld,
  passing: Passing,
  { bodyless, bytesMax, room, turnBack }: GrpcArrival,
): Promise<void> {
  const { exchange, route, path, gateNow, toCall } = passing;
  return new Promise((resolve, reject) =>
    receiveGrpc(gateNow, exchange, bodyless, {
      bytesMax,
      room,
      toCall: (body, contentEncoding) => toCall(body, bytesMax, contentEncoding),
      judge: (call, further) => void judge(gate, held, passing, { call, further }).then(resolve, reject),
      failed: (error) => void turnBack(error).catch(reject),
      way: {
        classify: (it) => classifyByRoute(gateNow(), it, route, path),
        checkWay: createRouteCheck(gateNow, route),
      },
    }),
  );
}

interface Judged {
  readonly call: ReceivedCall;
  /** Rest of the call's body, where it has more. */
  readonly further?: FurtherBody;
}

/** Asks the pipeline and does what it says, if the route still leads there. */
async function judge(
  gate: EntranceGate,
  { webSockets, standing, answerFields }: InboundHeld,
  { exchange, route, path, wantsWebSocket }: Passing,
  { call, further }: Judged,
): Promise<void> {
  const classify = (it: ReceivedCall) => classifyByRoute(gate, it, route, path);
  const decided = await gate.inspect(classify(call) ?? call);
  const stands = gate.routes.stands(route);
  if (!(stands instanceof Promise ? await stands : stands)) throw changedMeanwhile();
  // A token may be long in coming, and the route may be another one by then.
  const ifStanding = async (injection: Injection | undefined): Promise<Injection | undefined> => {
    if (!(await gate.routes.stands(route))) throw changedMeanwhile();
    return injection;
  };
  enforce(gate, decided, exchange, {
    findCredential(it) {
      const found = gate.credentials.forRoute(it, route);
      return found instanceof Promise ? found.then(ifStanding) : found;
    },
    route,
    standing,
    further,
    answerFields,
    openWebSocket: wantsWebSocket ? (opened) => webSockets.open(opened, { route, classify }) : undefined,
  });
}

/**
 * Classifies a call by the tool that its route names, whatever the host of its upstream. Returns undefined
 * where the route names none; the catalogue then tells.
 */
function classifyByRoute(
  gate: EntranceGate,
  call: ReceivedCall,
  { tool, tenantId }: InboundRoute,
  { rest }: InboundPath,
): ClassifiedCall | undefined {
  if (tool === null) return undefined;
  const catalogue = gate.catalogues.of(tenantId);
  return classifyAs(catalogue, call, maxDecodedBytes(gate, tenantId), { toolName: tool, below: rest });
}

/**
 * Returns what a call claims. The route's agent makes its calls, whatever they claim. Without a key no name
 * is believed either.
 */
function claimedFor({ agentId, auth }: InboundRoute, claimed: Claimed | undefined): Claimed {
  if (agentId === null) return claimed ?? {};
  // Nearly no call claims anything, and to take an object apart costs a microsecond.
  if (!claimed) return { agentId };
  const { agentId: _, agentName, ...rest } = claimed;
  return { ...rest, ...(auth.type === 'key' && agentName ? { agentName } : {}), agentId };
}

const changedMeanwhile = (): GatewayError =>
  new GatewayError('NOT_FOUND', 'The route was changed while the call was judged; it was not sent.');

const noBody = Buffer.alloc(0);

/**
 * Reads the whole body. It never settles where the client leaves before its body is there: then there is
 * nobody to answer.
 */
function readBody(exchange: Exchange, bounds: BodyBounds): Promise<Buffer> {
  return new Promise((resolve, reject) => exchange.collect(bounds, { done: resolve, failed: reject }));
}
