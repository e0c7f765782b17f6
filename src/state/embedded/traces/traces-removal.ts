import type { Database } from '../sqlite.ts';

/** Asks to remove some of a tenant's chunks, those all of whose ids are from before a time. */
export interface TracesRemoval {
  readonly tenantId: string;
  readonly beforeMs: number;
}

/** Asks to remove the counts of keys that were removed. */
export interface CountsRemoval {
  readonly keyIds: readonly string[];
}

/** Asks to forget the agents that have not called since a time. */
export interface HistoriesRemoval {
  readonly idleSinceMs: number;
}

/** The number of chunks removed at a time: sixteen megabytes at most. */
export const removedMax = 32;

/**
 * Returns a function that removes chunks and returns how many. Where it returns `removedMax`, there may be
 * more.
 */
export function createTracesRemover(db: Database): (removal: TracesRemoval) => number {
  const remove = db.prepare(`
    DELETE FROM trace_chunks WHERE chunk_id IN (
      SELECT chunk_id FROM trace_chunks WHERE tenant_id = ? AND last_ms < ? LIMIT ${removedMax}
    )
  `);
  return ({ tenantId, beforeMs }) => remove.run(tenantId, beforeMs);
}

/** Returns a function that removes counts and returns of how many keys. */
export function createCountsRemover(db: Database): (removal: CountsRemoval) => number {
  const removeCounts = db.prepare('DELETE FROM counters WHERE subject IN (SELECT value FROM json_each(?))');
  const removeSeen = db.prepare('DELETE FROM seen WHERE subject IN (SELECT value FROM json_each(?))');
  return ({ keyIds }) => {
    const ids = JSON.stringify(keyIds);
    return db.transact(() => {
      removeCounts.run(ids);
      return removeSeen.run(ids);
    });
  };
}

/** Returns a function that forgets agents and returns how many. */
export function createHistoriesRemover(db: Database): (removal: HistoriesRemoval) => number {
  const idle = db.prepare("SELECT agent_id FROM histories WHERE json_extract(trust, '$.atMs') < ?");
  const removeHistory = db.prepare('DELETE FROM histories WHERE agent_id = ?');
  const removeNames = db.prepare('DELETE FROM destinations WHERE agent_id = ?');
  return ({ idleSinceMs }) =>
    db.transact(() => {
      const agents = idle.all(idleSinceMs).map((row) => String(row['agent_id']));
      for (const agentId of agents) {
        removeNames.run(agentId);
        removeHistory.run(agentId);
      }
      return agents.length;
    });
}
