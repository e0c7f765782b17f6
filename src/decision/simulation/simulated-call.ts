import { Call, type Identity } from '../../core/call.ts';
import { newTraceId } from '../../core/ids.ts';
import { parseDescribed } from '../../core/target.ts';
import type { GivenFacts } from '../facts/given-facts.ts';

/** A call as it is described, and who is to have made it. */
export interface SimulatedCall {
  readonly method: string;
  readonly url: string;
  /** Flat [name, value, …], latin1 as on the wire. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly contentType: string;
  /** None where absent. */
  readonly contentEncoding?: string;
  readonly agentName?: string | undefined;
  readonly runtimeType?: string | undefined;
  readonly identity: Identity;
  readonly agentStatus: Call['agentStatus'];
}

/** The call as an entrance would have made it, had it come in `nowMs` or when the facts say. Throws what a bad URL throws. */
export function toSimulatedCall(from: SimulatedCall, given: GivenFacts, nowMs: number): Call {
  const runtimeType = given.runtime_type ?? from.runtimeType;
  const call = new Call({
    traceId: newTraceId(nowMs),
    entrance: 'scan',
    receivedAtMs: given.now ?? nowMs,
    clientAddress: '',
    key: undefined,
    method: from.method.toUpperCase(),
    target: parseDescribed(from.url),
    headers: from.headers,
    body: from.body,
    contentType: from.contentType,
    contentEncoding: from.contentEncoding ?? '',
    claimed: {
      agentId: from.identity.agentId,
      ...(from.agentName ? { agentName: from.agentName } : {}),
      ...(runtimeType ? { runtimeType } : {}),
    },
    lastHead: undefined,
  });
  call.identity = from.identity;
  call.agentStatus = from.agentStatus;
  return call;
}
