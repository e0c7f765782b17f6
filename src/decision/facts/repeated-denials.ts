import { hourMs } from '../../state/rules/limits.ts';
import type { RecordedCall, Store } from '../../state/store.ts';
import { RecentMap } from '../../util/recent-map.ts';

/** The number of denials of one agent within an hour that deserves an incident. */
export const denialsEnough = 5;
/**
 * The bound of agents whose denials are kept. Beyond it, the agent that was not denied for longest is
 * forgotten.
 */
export const rememberedAgentsMax = 10_000;

const pageLimit = 100;
/** The most pages of traces that are read for one question. Older traces are not seen. */
export const pagesMax = 16;

type Denial = Pick<RecordedCall, 'tenantId' | 'agentId' | 'atMs'>;

/** Finds agents that are denied again and again, on one node or on many. */
export function createRepeatedDenials(store: Pick<Store, 'agentUsage' | 'listTraces'>) {
  /** The times of the last denials by agent, oldest first. The agents are in the order of the last denial. */
  const lately = new RecentMap<string, readonly number[]>(rememberedAgentsMax);

  return {
    /**
     * Notes a denial. Returns true where this node alone has seen enough of them, so that the state need not
     * be asked.
     */
    note({ agentId, atMs }: Denial) {
      const times = [...(lately.get(agentId) ?? []), atMs].sort((a, b) => a - b).slice(-denialsEnough);
      lately.set(agentId, times);
      return isRun(times);
    },

    /**
     * Tells whether the state has enough denials around this one, from any node. Each node asks when its own
     * denial is stored, so the last one sees them all. It looks at a bounded number of traces.
     */
    async isRepeated({ tenantId, agentId, atMs }: Denial) {
      // The usage is cheap to ask for, and answers for nearly all agents. It also counts refused calls, and
      // covers a day, so the traces are more exact.
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

/** Tells whether there are enough times, and all within an hour. They must be in their order. */
const isRun = (times: readonly number[]): boolean =>
  times.length === denialsEnough && (times.at(-1) ?? 0) - (times[0] ?? 0) < hourMs;

/**
 * Returns the time of a denial in a trace; none where it does not count. A refused call does not count: its
 * trace says DENY but explains nothing. Nor does a denial that was the gateway's own doing.
 */
function timeOfDenial(line: string): readonly number[] {
  const { at, explanation, excuse } = JSON.parse(line) as {
    readonly at: string;
    readonly explanation?: unknown;
    readonly excuse?: unknown;
  };
  return explanation === undefined || excuse !== undefined ? [] : [Date.parse(at)];
}
