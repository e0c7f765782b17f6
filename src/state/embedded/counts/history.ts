import { type Habits, noSightings, type Sightings, type TrustMark } from '../../../core/history.ts';
import { kept } from '../../../util/kept.ts';
import { createCache } from '../../cache.ts';
import { wasLetOut } from '../../rules/destinations.ts';
import {
  addCalls,
  type HabitSums,
  habitsAt,
  minuteOf,
  minutesInWindow,
  mutationsAt,
  noSums,
  withMutations,
} from '../../rules/habits.ts';
import { createSightingLogs } from '../../rules/sightings.ts';
import { afterCalls, afterMark, defaultTrustTerms, wholeTrust } from '../../rules/trust.ts';
import type { RecordedCall, Store, TrustRecord, TrustTerms } from '../../store.ts';
import type { Database, Row } from '../sqlite.ts';
import type { CallTally } from './counters.ts';
import { createSlidingCount, type SlidingCount } from './sliding-count.ts';

/*
 * Keeps the usual behaviour and the trust of agents. Memory is authoritative: an agent is read from disk when
 * it is first used, and the disk follows with the batches of the journal. Counts of minutes are in memory
 * alone.
 */

interface StoredHistory {
  readonly habits: HabitSums;
  readonly trust: TrustRecord;
}

export type HistoryReader = ReturnType<typeof createHistoryReader>;

export interface History {
  /** Returns the habits of an agent. The asking call is counted among those of the last minutes. */
  habitsOf(
    agentId: string,
    call: { nowMs: number; toolName: string; mutations: number; isCounted: boolean },
  ): Habits;
  trustOf(agentId: string): TrustRecord;
  sightingsOf(tenantId: string, nowMs: number): Sightings;
  readonly noteSighting: Store['noteSighting'];
  /** Adds a call that has ended. Never throws. */
  note(call: RecordedCall): void;
  /**
   * Adds a mark against the agent, or removes all where it is null. It changes memory alone, so the mark must
   * be written as well.
   */
  mark(agentId: string, mark: TrustMark | null): void;
  restoreTrust(terms: TrustTerms): void;
}

interface Agent {
  readonly habits: HabitSums;
  trust: TrustRecord;
  lately: SlidingCount;
  /** The minute of the last counted call. */
  minute: number;
  /** The times of the last writes, by tool. */
  readonly mutations: Map<string, readonly number[]>;
}

/** The limit of agents in memory. Those that fell out are read again; by then their calls are on the disk. */
const agentsMax = 65_536;
const toolsMax = 256;

export function createEmbeddedHistory(stored: HistoryReader): History {
  const agents = createCache<Agent>(agentsMax);
  const logs = createSightingLogs();
  let terms = defaultTrustTerms;

  const agentOf = (agentId: string): Agent =>
    kept(agents, agentId, () => ({
      ...stored.of(agentId),
      lately: createSlidingCount(minutesInWindow),
      minute: 0,
      mutations: new Map(),
    }));

  function mutationsOf({ mutations }: Agent, toolName: string, nowMs: number, count: number): number {
    if (count === 0) return 0;
    const times = withMutations(mutations.get(toolName) ?? [], nowMs, count);
    if (mutations.size >= toolsMax && !mutations.has(toolName)) mutations.clear();
    mutations.set(toolName, times);
    return mutationsAt(times, nowMs);
  }

  return {
    habitsOf(agentId, { nowMs, toolName, mutations, isCounted }) {
      const agent = agentOf(agentId);
      if (!isCounted) return habitsAt(agent.habits, nowMs, 0, 0);
      const minute = minuteOf(nowMs);
      // The clock was set back. Counts of minutes to come would keep the next calls from being counted.
      if (minute <= agent.minute - minutesInWindow) agent.lately = createSlidingCount(minutesInWindow);
      agent.minute = minute;
      agent.lately.add(minute, 1);
      const written = mutationsOf(agent, toolName, nowMs, mutations);
      return habitsAt(agent.habits, nowMs, agent.lately.sum(minute), written);
    },
    trustOf: (agentId) => agentOf(agentId).trust,
    sightingsOf(tenantId, nowMs) {
      logs.expire(tenantId, nowMs);
      return logs.find(tenantId) ?? noSightings;
    },
    noteSighting: (tenantId, sighting) => logs.open(tenantId).add(sighting),
    note(call) {
      const agent = agentOf(call.agentId);
      const { atMs } = call;
      addTally(agent, { origin: call, count: 1, firstMs: atMs, lastMs: atMs }, terms);
    },
    mark(agentId, mark) {
      const agent = agentOf(agentId);
      agent.trust = marked(agent.trust, mark, terms);
    },
    restoreTrust(next) {
      terms = next;
    },
  };
}

type Counted = Pick<CallTally, 'count' | 'firstMs' | 'lastMs'> & {
  readonly origin: Pick<RecordedCall, 'decision' | 'sizeClass' | 'marks'>;
};

function addTally(
  agent: { readonly habits: HabitSums; trust: TrustRecord },
  { origin, count, firstMs, lastMs }: Counted,
  terms: TrustTerms,
): void {
  const isOut = wasLetOut(origin);
  const marks = origin.marks ?? [];
  if (isOut) addCalls(agent.habits, firstMs, count, origin.sizeClass ?? 0);
  agent.trust = afterCalls(
    agent.trust,
    { firstMs, lastMs, count, isClean: isOut && marks.length === 0 },
    terms,
  );
  for (const mark of marks) agent.trust = afterMark(agent.trust, mark, terms);
}

export function createHistoryReader(db: Database) {
  const find = db.prepare('SELECT habits, trust FROM histories WHERE agent_id = ?');
  return { of: (agentId: string) => toHistory(find.get(agentId)) };
}

const toHistory = (row: Row | undefined): StoredHistory =>
  row
    ? {
        // A row of an older version lacks newer sums.
        habits: { ...noSums(), ...(JSON.parse(String(row['habits'])) as Partial<HabitSums>) },
        trust: JSON.parse(String(row['trust'])) as TrustRecord,
      }
    : { habits: noSums(), trust: wholeTrust };

const marked = (trust: TrustRecord, mark: TrustMark | null, terms: TrustTerms): TrustRecord =>
  mark ? afterMark(trust, mark, terms) : { ...wholeTrust, atMs: trust.atMs };

export function createHistoryWriter(db: Database) {
  const { of } = createHistoryReader(db);
  const put = db.prepare(`
    INSERT INTO histories (agent_id, habits, trust) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET habits = excluded.habits, trust = excluded.trust
  `);
  const save = (agentId: string, { habits, trust }: StoredHistory): void => {
    put.run(agentId, JSON.stringify(habits), JSON.stringify(trust));
  };
  return {
    /** Adds calls, in the running transaction. */
    add(tallies: readonly CallTally[], terms: TrustTerms) {
      const byAgent = Map.groupBy(tallies, ({ origin }) => origin.agentId);
      for (const [agentId, own] of byAgent) {
        const agent = { ...of(agentId) };
        for (const tally of own) addTally(agent, tally, terms);
        save(agentId, agent);
      }
    },
    mark(agentId: string, mark: TrustMark | null, terms: TrustTerms) {
      const { habits, trust } = of(agentId);
      save(agentId, { habits, trust: marked(trust, mark, terms) });
    },
  };
}
