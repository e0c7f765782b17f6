import type { Tail } from '../../call.ts';
import { createCache } from '../cache.ts';
import { destinationName } from '../destinations.ts';
import type { TailNote } from '../store.ts';
import { noTails, standingTails, tailsKeptMs, tailsMax } from '../tails.ts';

/** What agents have begun to send: in memory alone, since it counts for minutes. */
export interface Tails {
  of(agentId: string, host: string, nowMs: number): readonly Tail[];
  note(note: TailNote): void;
}

/** Pairs of agents and hosts. */
const pairsMax = 16_384;

export function createTails(): Tails {
  const tailsOf = createCache<readonly Tail[]>(pairsMax);
  /** Until then some of them may stand: nearly always there are none, and no call pays for it. */
  let endMs = 0;
  return {
    of(agentId, host, nowMs) {
      if (nowMs >= endMs) return noTails;
      const tails = tailsOf.get(pairOf(agentId, host));
      return tails ? standingTails(tails, nowMs) : noTails;
    },
    note({ agentId, host, tails }) {
      const pair = pairOf(agentId, host);
      tailsOf.set(pair, [...tails, ...(tailsOf.get(pair) ?? noTails)].slice(0, tailsMax));
      endMs = Math.max(endMs, ...tails.map(({ atMs }) => atMs + tailsKeptMs));
    },
  };
}

const pairOf = (agentId: string, host: string): string => `${agentId} ${destinationName(host)}`;
