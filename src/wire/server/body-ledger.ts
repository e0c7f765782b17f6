import { GatewayError } from '../../core/errors.ts';
import { sizeText } from '../../util/byte-size.ts';
import { Tally } from '../../util/tally.ts';
import type { Closable } from './closable.ts';
import type { ConnectionOwner } from './connections.ts';

/*
 * Counts how many bytes of bodies and messages the daemon holds at one time. A body counts from when it begins to be kept
 * until its call has ended. It is held for as long: it may wait for a reader, for an upstream, or for the end
 * of a streamed answer. Each agent has the room that the configuration says, and all agents together have a
 * few times as much. Where there are several tenants, none holds more than stays free for others.
 */

/** Longest body that is not counted. Connections bound such bodies, and most calls never ask the ledger. */
export const uncountedBytesMax = 65_536;
/** Room of all agents together, as a multiple of the room of one agent. */
const agentsInAll = 4;

/** The room that the body of one call takes. */
export interface BodyRoom {
  /**
   * Takes room for a body that has `bytes` bytes, in all or so far. Returns the error where there is none. A
   * call keeps its room until it ends.
   */
  hold(bytes: number): GatewayError | undefined;
  /**
   * Takes room for the `bytes` bytes of messages that are held now, and gives back what was taken for others.
   * Returns the error where there is none.
   */
  keep(bytes: number): GatewayError | undefined;
}

export type BodyLedger = ReturnType<typeof createBodyLedger>;

/** Creates the count. `perAgentMax` is asked for each body, so that a reload counts from the next one on. */
export function createBodyLedger(perAgentMax: () => number) {
  const agents = new Tally();
  const tenants = new Tally();
  let held = 0;

  function change({ agentId, tenantId }: ConnectionOwner, bytes: number): void {
    held += bytes;
    agents.add(agentId, bytes);
    tenants.add(tenantId, bytes);
  }

  function whyNone(
    { agentId, tenantId }: ConnectionOwner,
    isShared: boolean,
    more: number,
  ): GatewayError | undefined {
    const perAgent = perAgentMax();
    const inAll = perAgent * agentsInAll;
    if (agents.of(agentId) + more > perAgent)
      return busy('The calls of this agent hold as many bytes as those of one agent may', perAgent);
    if (held + more > inAll)
      return busy('The calls of all agents hold as many bytes as the gateway keeps', inAll);
    const isMuch = tenants.of(tenantId) + more > inAll - held - more;
    return isShared && isMuch
      ? busy('The calls of this tenant leave too little to others', inAll)
      : undefined;
  }

  return {
    get heldBytes() {
      return held;
    },
    /**
     * Returns the room for a call's body, which is given back when `answer` closes. With `isShared` room is
     * kept for other tenants.
     */
    roomFor(answer: Closable, owner: ConnectionOwner, isShared: boolean): BodyRoom {
      let own = 0;
      let isWatched = false;
      const set = (bytes: number): void => {
        change(owner, bytes - own);
        own = bytes;
      };
      function keep(bytes: number): GatewayError | undefined {
        const counted = bytes <= uncountedBytesMax ? 0 : bytes;
        if (counted === own || answer.destroyed) return undefined;
        if (counted > perAgentMax()) return neverFits(counted, perAgentMax());
        const refusal = counted > own ? whyNone(owner, isShared, counted - own) : undefined;
        if (refusal) return refusal;
        if (!isWatched) answer.once('close', () => set(0));
        isWatched = true;
        set(counted);
        return undefined;
      }
      return { keep, hold: (bytes) => (bytes <= own ? undefined : keep(bytes)) };
    },
  };
}

const busy = (why: string, limit: number): GatewayError =>
  new GatewayError(
    'GATEWAY_BUSY',
    `${why} (${sizeText(limit)}, of limits.max_body_bytes_total); try again once some have ended.`,
    { retryAfterSeconds: 1 },
  );

const neverFits = (actual: number, limit: number): GatewayError =>
  new GatewayError(
    'PAYLOAD_TOO_LARGE',
    `The gateway holds ${sizeText(limit)} of bodies of one agent; raise limits.max_body_bytes_total, or send less.`,
    { actual_bytes: actual, limit_bytes: limit },
  );
