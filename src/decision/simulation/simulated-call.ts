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

/** The description of a call, and who is supposed to have made it. */
interface DescribedCall {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, in latin1 as on the wire. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly contentType: string;
  /** The coding of the body; none where it is absent. */
  readonly contentEncoding?: string;
  readonly agentName?: string | undefined;
  readonly runtimeType?: string | undefined;
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
}

/** A call that nobody admits. Its caller is given. */
export interface SimulatedCall {
  readonly received: ReceivedCall;
  readonly identity: Identity;
  readonly agentStatus: AgentStatus;
  /**
   * Returns sentences that say how an operation leaves the scope of the key. Without this function none
   * leaves it.
   */
  readonly scopeViolations?: (operation: Operation) => readonly SafeName[];
}

/**
 * Makes the call as an entrance would, at `nowMs` or when the facts say. Throws VALIDATION_FAILED for a bad
 * URL.
 */
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
