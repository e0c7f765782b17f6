import type { InboundRoute } from '../config/schema.ts';
import type { ClassifiedCall, DecidedCall, ReceivedCall } from '../core/call.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { ResponseInspector } from '../response/inspector.ts';
import { blocked, type ResponseRules, redactedHead, sanitized } from '../response/rules.ts';
import type { ResponseHead } from '../wire/http1/head.ts';
import { fieldOf, toClientHeaders } from '../wire/http1/headers.ts';
import type { BodyLedger } from '../wire/server/body-ledger.ts';
import { ownerOf } from '../wire/server/connections.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { acceptOf, hasItem, isKey, itemsOf, webSocketVersion } from '../wire/websocket/handshake.ts';
import { Peer } from '../wire/websocket/peer.ts';
import type { Switched } from './enforce.ts';
import { createRouteCheck } from './route-check.ts';
import { WebSocketRelay } from './websocket-relay.ts';

/*
 * WebSocket through the gateway (RFC 6455, RFC 8441). The handshake is a call like any other. What follows is
 * put together from its frames on each side, and judged or read as messages. Messages are sent on in frames
 * of our own, so no frame passes unread. Extensions are removed from the handshake, so that nothing is
 * compressed and no message is larger than the frames that bring it.
 */

/** The way of a WebSocket call, where it came by a route. */
interface WebSocketWay {
  readonly route?: InboundRoute | undefined;
  /** Classifies a message, for routes that name a tool. */
  readonly classify?: ((message: ReceivedCall) => ClassifiedCall | undefined) | undefined;
}

export type WebSockets = ReturnType<typeof createWebSockets>;

export function createWebSockets(gate: () => EntranceGate, bodies: BodyLedger, log: Log) {
  const relays = new Set<WebSocketRelay>();
  let isDraining = false;

  function start(opened: Switched, { route, classify }: WebSocketWay): void {
    const { call, exchange, connection, scrub } = opened;
    const current = gate();
    const inspector = new ResponseInspector(gate, call, route);
    const { rules } = inspector;
    if (!rules) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
    const fields = admitHandshake(inspector, rules, toClientFields(opened, current.names.requestPrefix));
    const maxMessageBytes = rules.tenant.maxWsMessageBytes;
    const { isShared } = current.tenants.connectionBounds(rules.tenant.id);
    const newKeep = (): ((bytes: number) => boolean) => {
      const room = bodies.roomFor(exchange.answer, ownerOf(rules.identity), isShared);
      return (bytes) => room.keep(bytes) === undefined;
    };
    const relay = new WebSocketRelay({
      gate,
      call,
      classify,
      checkWay: route ? createRouteCheck(gate, route) : undefined,
      inspector,
      scrub,
      log,
      // The connection to the agent is taken over last: until then the call can still be refused.
      upstream: new Peer(connection, { isServer: false, maxMessageBytes, keep: newKeep() }),
      agent: new Peer(exchange.switchProtocols(fields), { isServer: true, maxMessageBytes, keep: newKeep() }),
    });
    relays.add(relay);
    void relay.run().then(() => relays.delete(relay));
    if (isDraining) relay.drain();
  }

  return {
    /** Takes over both connections. Never throws. */
    open(opened: Switched, way: WebSocketWay) {
      try {
        start(opened, way);
      } catch (error) {
        opened.connection.destroy();
        opened.refuse(toGatewayError(error));
      }
    },
    /** Says goodbye on all connections (1001). */
    drain() {
      isDraining = true;
      for (const relay of relays) relay.drain();
    },
  };
}

/** Returns the fields of the upstream's answer that may come in. Throws where the answer is blocked. */
function admitHandshake(
  inspector: ResponseInspector,
  rules: ResponseRules,
  fields: readonly string[],
): readonly string[] {
  const {
    reasons,
    cuts,
    fields: admitted,
  } = inspector.admitFields({ part: 'head', status: 101 }, fields, rules);
  if (reasons.length > 0) throw blocked(reasons);
  return cuts.length === 0 ? fields : redactedHead(rules.gate, admitted, sanitized(cuts));
}

/** Fields of the handshake itself, of which each side has its own. They say nothing of the call. */
const ofHandshake: ReadonlySet<string> = new Set([
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-accept',
]);

export const withoutHandshake = (fields: readonly string[]): string[] =>
  fields.filter((_, i) => !ofHandshake.has((fields[i & ~1] as string).toLowerCase()));

/** Returns the fault of a WebSocket request (RFC 6455, 4.2.1); undefined where it has none. */
export function whyNoHandshake(exchange: Exchange): GatewayError | undefined {
  const { fields, method, hasBody, stream } = exchange;
  const wrong = (detail: string): GatewayError => new GatewayError('VALIDATION_FAILED', detail);
  if (method !== 'GET' || hasBody) return wrong('WebSocket begins with a GET without a body.');
  if (fieldOf(fields, 'sec-websocket-version') !== webSocketVersion)
    return wrong(`WebSocket is spoken here in version ${webSocketVersion}.`);
  // On a stream there is no key (RFC 8441, 5).
  if (!stream && !isKey(fieldOf(fields, 'sec-websocket-key')))
    return wrong('Sec-WebSocket-Key must be 16 bytes in base64.');
  return undefined;
}

/** Returns the fields of the upstream's answer for the agent. Throws where they contradict the request. */
function toClientFields({ call, head, key, ours, scrub }: Switched, ownPrefix: string): string[] {
  const why = whyNotSwitched(call, head, key);
  if (why !== undefined)
    throw new GatewayError('UPSTREAM_PROTOCOL', `The upstream did not agree to WebSocket: ${why}.`);
  const fields = withoutHandshake(toClientHeaders(head, ours, ownPrefix));
  const sent = fields.filter((_, i) => (fields[i & ~1] as string).toLowerCase() !== 'content-length');
  return scrub?.fields(sent) ?? sent;
}

/** Returns why an upstream's answer does not agree to WebSocket (RFC 6455, 4.1); undefined where it does. */
function whyNotSwitched(
  call: DecidedCall,
  { status, fields }: ResponseHead,
  key: string,
): string | undefined {
  const isHttp1 = status === 101;
  if (isHttp1 && !hasItem(fieldOf(fields, 'upgrade'), 'websocket')) return 'it went on in another protocol';
  if (isHttp1 && !hasItem(fieldOf(fields, 'connection'), 'upgrade')) return 'it did not say so in Connection';
  if (isHttp1 && fieldOf(fields, 'sec-websocket-accept') !== acceptOf(key)) return 'it answered another key';
  if (fieldOf(fields, 'sec-websocket-extensions') !== '') return 'it chose an extension that was not offered';
  const chosen = fieldOf(fields, 'sec-websocket-protocol');
  const offered = itemsOf(fieldOf(call.headers, 'sec-websocket-protocol'));
  if (chosen !== '' && !offered.includes(chosen)) return 'it chose a subprotocol that was not offered';
  return undefined;
}
