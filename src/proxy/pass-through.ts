import type { Socket } from 'node:net';
import { type DecidedCall, type ReceivedCall, receivedCall } from '../core/call.ts';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { newTraceId } from '../core/ids.ts';
import { targetWithin } from '../core/target.ts';
import type { EntranceGate } from '../decision/gate.ts';
import { rejectEarly } from '../decision/reject-early.ts';
import { decisionHeaders, refusalHeaders } from '../wire/server/decision-headers.ts';
import { noticeLeaving } from '../wire/server/notice-leaving.ts';
import type { Tunnel } from './addressed.ts';
import { claimedBy, inProxyTerms, refusalOfClaim } from './authenticate.ts';
import { isHeldBack, toRefusal, withTrace } from './enforce.ts';
import { readRequestHead } from './request-head.ts';

/** A tunnel that may stand, or the error why it may not. `headers` say what was decided. */
type PassedThrough =
  | { readonly call: DecidedCall; readonly upstream: Socket; readonly headers: readonly string[] }
  | { readonly error: GatewayError; readonly headers: readonly string[] };

/**
 * Judges a tunnel that nobody will read (`intercept.passthrough`), as one call without content, and opens its
 * connection. Nothing else of the tunnel will ever be judged. So nothing is dialled before, and what a rule
 * wants cut is not let out.
 */
export async function passThrough(
  gate: EntranceGate,
  fields: readonly string[],
  socket: Socket,
  tunnel: Tunnel,
): Promise<PassedThrough> {
  const leave = gate.enter();
  // An approval must not be spent on a client that has left.
  const letAlone = noticeLeaving(socket);
  const receivedAtMs = Date.now();
  const traceId = newTraceId(receivedAtMs);
  try {
    const { claimed } = readRequestHead(fields, gate.names.requestPrefix, gate.config.limits.maxHeaders);
    const call = toCall(
      socket,
      { ...tunnel, claimed: claimedBy(claimed, tunnel) },
      { traceId, receivedAtMs },
    );
    const refusal = tunnel.isKeyless ? refusalOfClaim(claimed ?? {}) : undefined;
    if (refusal) throw await rejectEarly(gate, call, refusal);
    const decided = await gate.inspect(call);
    const { verdict } = decided;
    const headers = decisionHeaders(gate.names, call.traceId, verdict);
    if (verdict.decision === 'DENY' || verdict.decision === 'REQUIRE_APPROVAL')
      return { error: withTrace(toRefusal(gate, decided), call.traceId), headers };
    return await dial(gate, decided, headers);
  } catch (thrown) {
    const failure = toGatewayError(thrown);
    const error = inProxyTerms(failure);
    return { error, headers: refusalHeaders(gate.names, traceId, failure.code) };
  } finally {
    letAlone();
    leave();
  }
}

async function dial(
  gate: EntranceGate,
  call: DecidedCall,
  headers: readonly string[],
): Promise<PassedThrough> {
  try {
    return { call, upstream: await gate.upstream.connect(call.target), headers };
  } catch (error) {
    const failure = toGatewayError(error);
    gate.answers.failed(call.identity.tenantId, call.traceId, failure.code);
    return {
      error: withTrace(failure, call.traceId),
      headers: isHeldBack(failure) ? refusalHeaders(gate.names, call.traceId, failure.code) : headers,
    };
  }
}

function toCall(
  socket: Socket,
  { host, port, key, claimed, clientAddress }: Tunnel,
  from: { readonly traceId: string; readonly receivedAtMs: number },
): ReceivedCall {
  return receivedCall({
    ...from,
    entrance: 'forward',
    clientAddress,
    key,
    method: 'CONNECT',
    target: targetWithin('https', host, port, '/'),
    headers: [],
    body: Buffer.alloc(0),
    contentType: '',
    contentEncoding: '',
    claimed,
    lastHead: undefined,
    isAwaited: () => !socket.destroyed,
  });
}
