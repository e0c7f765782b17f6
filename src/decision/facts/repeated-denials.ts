import { hourMs } from '../../state/rules/limits.ts';
import type { RecordedCall, Store } from '../../state/store.ts';
import { RecentMap } from '../../util/recent-map.ts';

/** Denials of one agent within an hour that deserve an incident. */
export const denialsEnough = 5;
/** Bounds the agents whose denials are kept; then the one that was not denied for longest is forgotten. */
export const rememberedAgentsMax = 10_000;

const pageLimit = 100;
/** Pages of traces for one question; older ones are not seen. */
export const pagesMax = 16;

type Denial = Pick<RecordedCall, 'tenantId' | 'agentId' | 'atMs'>;

/** Finds agents that are denied again and again, on one node or on many. */
export function createRepeatedDenials(store: Pick<Store, 'agentUsage' | 'listTraces'>) {
  /** When the last ones were, oldest first, by agent; in the order of the last denial. */
  const lately = new RecentMap<string, readonly number[]>(rememberedAgentsMax);

  return {
    /** Notes a denial; true where this node has seen enough of them by itself, and nobody need be asked. */
    note({ agentId, atMs }: Denial) {
      const times = [...(lately.get(agentId) ?? []), atMs].sort((a, b) => a - b).slice(-denialsEnough);
      lately.set(agentId, times);
      return isRun(times);
    },

    /**
     * Tells whether the state has enough denials around this one, from any node. Each node asks when its own
     * denial is stored, so the last one sees them all. Looks at a bounded number of traces.
     */
    async isRepeated({ tenantId, agentId, atMs }: Denial) {
      // Cheap, and answers for nearly all agents. It counts refused calls too, and a day: the traces are more
      // exact.
      const [usage] = await store.agentUsage(tenantId, [agentId], Date.now());
      if (!usage || usage.decisions24h.DENY < denialsEnough) return false;
      const filter = { agentId, decision: 'DENY', fromMs: atMs - hourMs } as const;
      let times: readonly number[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < pagesMax; pages += 1) {
        const { items, nextCursor } = await store.listTraces(tenantId, filter, { limit: pageLimit, cursor });
        for (const time of items.flatMap(timeOfDenial)) {
          times = [time, ...times].slice(0, denialsEnough);
          if (isRun(times)) return true;
        }
        if (nextCursor === null) return false;
        cursor = nextCursor;
      }
      return false;
    },
  };
}

/** Takes times in their order. */
const isRun = (times: readonly number[]): boolean =>
  times.length === denialsEnough && (times.at(-1) ?? 0) - (times[0] ?? 0) < hourMs;

/**
 * A refused call does not count: its trace says DENY but explains nothing. Nor does a denial that was the
 * gateway's own doing.
 */
function timeOfDenial(line: string): readonly number[] {
  const { at, explanation, excuse } = JSON.parse(line) as {
    readonly at: string;
    readonly explanation?: unknown;
    readonly excuse?: unknown;
  };
  return explanation === undefined || excuse !== undefined ? [] : [Date.parse(at)];
}
