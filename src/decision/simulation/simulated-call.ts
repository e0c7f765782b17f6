import {
  type AgentStatus,
  type Identity,
  type Operation,
  type ReceivedCall,
  receivedCall,
} from '../../core/call.ts';
import { newTraceId } from '../../core/ids.ts';
import type { SafeName } from '../../core/safe-name.ts';
import { parseDescribed } from '../../core/target.ts';
import type { GivenFacts } from '../facts/given-facts.ts';

/** A call as it is described, and who is to have made it. */
interface DescribedCall {
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
  readonly agentStatus: AgentStatus;
}

/** A call that nobody admits: its caller is given. */
export interface SimulatedCall {
  readonly received: ReceivedCall;
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  /** Sentences that say how the call leaves the scope of its key, by what it does; by default it does not. */
  readonly scopeViolations?: (operation: Operation) => readonly SafeName[];
}

/** Makes the call as an entrance would, at `nowMs` or when the facts say. Throws what a bad URL throws. */
export function toSimulatedCall(from: DescribedCall, given: GivenFacts, nowMs: number): SimulatedCall {
  const { identity, agentStatus } = from;
  const runtimeType = given.runtime_type ?? from.runtimeType;
  const received = receivedCall({
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
      agentId: identity.agentId,
      ...(from.agentName ? { agentName: from.agentName } : {}),
      ...(runtimeType ? { runtimeType } : {}),
    },
    lastHead: undefined,
  });
  return { received, identity, agentStatus };
}
