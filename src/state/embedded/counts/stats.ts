import type { StatBucket } from '../../store.ts';
import type { CountedName } from '../../traces/likely.ts';
import {
  addCounts,
  addSearchCounts,
  isSearchDimension,
  type MinuteCounts,
  noCounts,
  noSearchCounts,
  otherName,
  type SearchCounts,
  type StatCounts,
  type StatInterval,
  statIntervalNames,
  statIntervals,
  statStart,
  toCounts,
} from '../../traces/stats.ts';
import { type Database, parseStored, type Row, type Statement } from '../sqlite.ts';
import { createTenantsOf } from '../tenants-of.ts';

/* Keeps counts of calls. Each minute, hour and day has a row, with all its names as JSON. */

const oneBucket = 'SELECT counts, names FROM stats WHERE tenant_id = ? AND interval_ms = ? AND start_ms = ?';

/** Returns a function that adds the calls of a batch, in the running transaction. */
export function createStatWriter(db: Database): (minutes: readonly MinuteCounts[]) => void {
  const find = db.prepare(oneBucket);
  const put = db.prepare(`
    INSERT INTO stats (tenant_id, interval_ms, start_ms, counts, names) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET counts = excluded.counts, names = excluded.names
  `);

  function add({ tenantId, counts, names }: MinuteCounts, interval: StatInterval, startMs: number): void {
    const place = [tenantId, statIntervals[interval], startMs] as const;
    const [sum, searched] = [noCounts(), noSearchCounts()];
    const standing = find.get(...place);
    if (standing) addCounts(sum, parseStored<Partial<StatCounts>>(standing['counts']));
    if (standing) addSearchCounts(searched, namesIn(standing));
    addCounts(sum, counts);
    addSearchCounts(searched, names);
    put.run(...place, JSON.stringify(sum), JSON.stringify(searched));
  }

  return (minutes) => {
    for (const minute of minutes)
      for (const interval of statIntervalNames) add(minute, interval, statStart(minute.startMs, interval));
  };
}

const namesIn = (row: Row): Partial<SearchCounts> =>
  row['names'] == null ? {} : parseStored<Partial<SearchCounts>>(row['names']);

export interface StatReader {
  /** Reads buckets: see `Store.callStats`. */
  read(tenantId: string, interval: StatInterval, fromMs: number, beforeMs: number): readonly StatBucket[];
  /** Reads buckets with the counts of decisions alone. */
  readonly readDecisions: StatReader['read'];
  /**
   * Tells which buckets may have calls with all these names: see `LikelySource.mayHave` of
   * `traces/likely.ts`.
   */
  mayHave(
    tenantId: string,
    interval: StatInterval,
    starts: readonly number[],
    names: readonly CountedName[],
  ): readonly boolean[];
  /** Returns the tenants that have counts. */
  tenants(): string[];
}

export function createStatReader(db: Database): StatReader {
  const find = db.prepare(`
    SELECT start_ms, counts FROM stats
    WHERE tenant_id = ? AND interval_ms = ? AND start_ms >= ? AND start_ms < ? ORDER BY start_ms
  `);
  const findDecisions = db.prepare(`
    SELECT start_ms, json_object('decision', json_extract(counts, '$.decision')) AS counts FROM stats
    WHERE tenant_id = ? AND interval_ms = ? AND start_ms >= ? AND start_ms < ? ORDER BY start_ms
  `);
  const findOne = db.prepare(oneBucket);
  const readBy =
    (statement: Statement): StatReader['read'] =>
    (tenantId, interval, fromMs, beforeMs) =>
      statement.all(tenantId, statIntervals[interval], fromMs, beforeMs).map((row) => ({
        startMs: Number(row['start_ms']),
        counts: toCounts(parseStored<Partial<StatCounts>>(row['counts'])),
      }));
  return {
    tenants: createTenantsOf(db, 'stats'),
    mayHave: (tenantId, interval, starts, names) =>
      starts.map((startMs) => {
        const row = findOne.get(tenantId, statIntervals[interval], startMs);
        if (!row) return true;
        const counts = parseStored<Partial<StatCounts>>(row['counts']);
        const searched = namesIn(row);
        const calls = Object.values(counts.decision ?? {}).reduce((sum, it) => sum + it, 0);
        return names.every(({ dimension, name }) => {
          if (isSearchDimension(dimension) && searched.calls !== calls) return true;
          const counted = { ...counts, ...searched }[dimension] ?? {};
          return Object.hasOwn(counted, name) || Object.hasOwn(counted, otherName);
        });
      }),
    read: readBy(find),
    readDecisions: readBy(findDecisions),
  };
}

/** Asks to remove some of a tenant's buckets of one length that begin before a time. */
export interface StatsRemoval {
  readonly statsOf: string;
  readonly interval: StatInterval;
  readonly beforeMs: number;
}

/** The number of rows that are removed at a time. */
export const statsRemovedMax = 500;

/**
 * Returns a function that removes buckets and returns how many. Where it returns `statsRemovedMax`, there may
 * be more.
 */
export function createStatsRemover(db: Database): (removal: StatsRemoval) => number {
  const remove = db.prepare(`
    DELETE FROM stats WHERE (tenant_id, interval_ms, start_ms) IN (
      SELECT tenant_id, interval_ms, start_ms FROM stats
      WHERE tenant_id = ? AND interval_ms = ? AND start_ms < ? LIMIT ${statsRemovedMax}
    )
  `);
  return ({ statsOf, interval, beforeMs }) => remove.run(statsOf, statIntervals[interval], beforeMs);
}
