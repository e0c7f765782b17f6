import type { Duplex } from 'node:stream';
import type { InboundRoute } from '../config/schema.ts';
import type { DecidedCall } from '../core/call.ts';
import { GatewayError, problems, toGatewayError } from '../core/errors.ts';
import { toAuthority } from '../core/target.ts';
import type { Injection } from '../credentials/injection.ts';
import type { GoingCall } from '../decision/call-watch.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { explanationForAgent } from '../decision/trace/agent-view.ts';
import { openDecoding } from '../response/decoding.ts';
import { answerFor } from '../response/whole.ts';
import type { MaybePromise } from '../state/store.ts';
import type { RelayOptions } from '../wire/client/relay.ts';
import { withoutBodyFields } from '../wire/client/scrub/body-fields.ts';
import type { Scrub } from '../wire/client/scrub/scrub.ts';
import type { UpstreamRequest } from '../wire/client/upstream.ts';
import type { ResponseHead } from '../wire/http1/head.ts';
import { toUpstreamHeaders, withoutFields } from '../wire/http1/headers.ts';
import { decisionHeaders, refusalHeaders } from '../wire/server/decision-headers.ts';
import type { Exchange } from '../wire/server/exchange.ts';
import { answerProblem } from '../wire/server/problem.ts';
import { newKey, upgradeFields } from '../wire/websocket/handshake.ts';
import type { AccessMonitor } from './standing.ts';

/** Returns the Via entry, by the protocol that the request came in (RFC 9110, 7.6.3). */
const viaFor = ({ stream }: Exchange): string => `${stream ? '2' : '1.1'} postern`;

/** The way by which a call came, with what differs between entrances. */
export interface Way {
  /** Finds the credential of a call that may go; undefined where the call goes with the agent's own. */
  findCredential(call: DecidedCall): MaybePromise<Injection | undefined>;
  /** Inbound route by which the call came. */
  readonly route?: InboundRoute;
  /** Tells at each tick whether the answer to the call may go on. */
  readonly standing: AccessMonitor;
  /** Rest of a body of which only a part was judged. */
  readonly further?: FurtherBody | undefined;
  /**
   * Takes both connections once the upstream has agreed to WebSocket; present where the call asks for it.
   * Never throws.
   */
  readonly openWebSocket?: ((opened: Switched) => void) | undefined;
  /**
   * Fields for answers of the upstream, in place of its own. A field without a value removes the upstream's.
   */
  readonly answerFields?: readonly string[] | undefined;
}

/** A body that goes on behind what was judged with its head. */
export interface FurtherBody {
  /** Sends what was judged, which is the body of `request`, and then the rest as far as it may go. */
  forward(gate: EntranceGate, call: DecidedCall, request: UpstreamRequest, options: RelayOptions): void;
}

/** An upstream that has agreed to go on in WebSocket. */
export interface Switched {
  readonly call: DecidedCall;
  readonly exchange: Exchange;
  readonly head: ResponseHead;
  readonly connection: Duplex;
  /** Key that the upstream had to answer. */
  readonly key: string;
  /** Fields that tell the decision in the answer. */
  readonly ours: readonly string[];
  readonly scrub: Scrub | undefined;
  refuse(error: GatewayError): void;
}

/**
 * Does what the verdict says: refuses the call, or sends it on. A call is not sent without the credential
 * that it needs.
 */
export function enforce(
  gate: EntranceGate,
  call: DecidedCall,
  exchange: Exchange,
  { findCredential, route, standing, further, openWebSocket, answerFields }: Way,
): void {
  const { verdict } = call;
  const decided = decisionHeaders(gate.names, call.traceId, verdict);
  const ours = answerFields ? [...decided, ...answerFields] : decided;
  const isRefused = verdict.decision === 'DENY' || verdict.decision === 'REQUIRE_APPROVAL';
  let going: GoingCall | undefined;
  const refuse = (error: GatewayError): void => {
    going?.ended({ status: 0, code: error.code });
    const { reason_codes: reasons = [] } = error.extra;
    const isOfAnswer = reasons[0] === 'RESPONSE_BLOCKED';
    if (!isRefused && !isOfAnswer) gate.answers.failed(call.identity.tenantId, call.traceId, error.code);
    const headers =
      isHeldBack(error) || isOfAnswer
        ? refusalHeaders(gate.names, call.traceId, isOfAnswer ? reasons.join(',') : error.code)
        : decided;
    answerProblem(exchange, withTrace(error, call.traceId), headers);
  };
  if (isRefused) {
    refuse(toRefusal(gate, call));
    return;
  }
  going = gate.watch?.begin(call);
  const sendWith = (injection: Injection | undefined): void =>
    send(gate, call, exchange, { injection, ours, route, standing, further, openWebSocket, refuse, going });
  try {
    const found = findCredential(call);
    if (found instanceof Promise) found.then(sendWith).catch((error) => refuse(toGatewayError(error)));
    else sendWith(found);
  } catch (error) {
    refuse(toGatewayError(error));
  }
}

/**
 * Tells whether a call that was allowed fails before it is let out. That is so for reasons of ours, and where
 * DNS gave it a blocked address.
 */
export const isHeldBack = ({ code }: GatewayError): boolean =>
  problems[code].status === 503 || code === 'EGRESS_BLOCKED';

interface Sending {
  readonly openWebSocket: Way['openWebSocket'];
  readonly injection: Injection | undefined;
  readonly ours: readonly string[];
  readonly route: InboundRoute | undefined;
  readonly standing: AccessMonitor;
  readonly further: FurtherBody | undefined;
  readonly going: GoingCall | undefined;
  refuse(error: GatewayError): void;
}

function send(
  gate: EntranceGate,
  call: DecidedCall,
  exchange: Exchange,
  { injection, ours, route, standing, further, openWebSocket, refuse, going }: Sending,
): void {
  const sanitized = call.verdict.sanitizedBody;
  const isRewritten = sanitized !== undefined && sanitized !== call.body;
  const judged = {
    target: call.target,
    headers: isRewritten ? withoutBodyFields(call.headers) : call.headers,
  };
  const { target, headers } = injection ? injection.apply(judged) : judged;
  const body = sanitized ?? call.body;
  const authority = toAuthority(target.scheme, target.host, target.port);
  const { scrub, sign, onStatus, mayBeStored = false } = injection ?? {};
  if (sign && further) {
    refuse(
      new GatewayError(
        'CREDENTIAL_UNAVAILABLE',
        'What is signed must be known as a whole, and this is streamed.',
      ),
    );
    return;
  }
  const unsigned = {
    tenantId: call.identity.tenantId,
    agentId: call.identity.ownAgent.agentId,
    target,
    method: call.method,
    headers: withFields(toUpstreamHeaders(headers, authority, viaFor(exchange)), going?.fields),
    body: body.length > 0 ? body : undefined,
  };
  const ready = sign ? sign(unsigned) : unsigned;
  const key = openWebSocket && newKey();
  const request: UpstreamRequest =
    key === undefined
      ? ready
      : { ...ready, headers: [...ready.headers, ...upgradeFields(key)], isWebSocket: true };
  const sinceMs = performance.now();
  const options: RelayOptions = {
    response: answerFor(gate, call, exchange, route),
    extraHeaders: [...ours, ...viaOnAnswer],
    onError: refuse,
    whyEnded: () => standing.whyEnded(call, sinceMs),
    scrub,
    mayBeStored,
    openDecoding: scrub && openDecoding,
    onEnd: going || onStatus ? ({ status }) => endWith(status, going, onStatus) : undefined,
    onSwitch:
      openWebSocket && key !== undefined
        ? (head, connection) => {
            going?.ended({ status: head.status });
            openWebSocket({ ...{ call, exchange, head, connection, key, ours, scrub }, refuse });
          }
        : undefined,
  };
  if (further) further.forward(gate, call, request, options);
  else gate.upstream.forward(request, options);
}

function endWith(status: number, going: GoingCall | undefined, onStatus: Injection['onStatus']): void {
  going?.ended({ status });
  onStatus?.(status);
}

/** Returns the fields with `ours` in place of those of the same names. */
function withFields(headers: string[], ours: readonly string[] = noFields): string[] {
  if (ours.length === 0) return headers;
  const names = new Set(ours.filter((_, at) => at % 2 === 0).map((it) => it.toLowerCase()));
  return [...withoutFields(headers, (name) => names.has(name.toLowerCase())), ...ours];
}

const noFields: readonly string[] = [];

/**
 * Via entry on answers (RFC 9110, 7.6.3). It is set on answers of another version, too. That the gateway
 * stands between is to be seen, and the upstream's version is nobody's affair.
 */
const viaOnAnswer: readonly string[] = ['Via', '1.1 postern'];

/** Returns the error that the agent gets for a call or message that may not go. */
export function toRefusal(gate: EntranceGate, call: DecidedCall): GatewayError {
  const { verdict } = call;
  const explanation = explanationForAgent(call, verdict);
  const detail = explanation[0] ?? 'The call is denied.';
  const extra = { reason_codes: verdict.reasonCodes, explanation };
  const { approval } = verdict;
  return approval
    ? new GatewayError('APPROVAL_REQUIRED', detail, {
        ...extra,
        approval_id: approval.approvalId,
        status_url: `${gate.controlUrl}/v1/approvals/${approval.approvalId}/status`,
        retryAfterSeconds: 5,
      })
    : new GatewayError('POLICY_DENIED', detail, extra);
}

export function withTrace(error: GatewayError, traceId: string): GatewayError {
  error.traceId = traceId;
  return error;
}
