import { createCache } from '../cache.ts';
import type { CallOrigin } from '../journal/line.ts';
import { destinationName, destinationsMax, touchedBy } from '../rules/destinations.ts';
import type { RecordedCall } from '../store.ts';
import type { Database } from './sqlite.ts';

/**
 * Keeps the destinations that each agent has touched. Memory holds known pairs; another pair costs a look-up
 * in the database.
 */
export type Destinations = ReturnType<typeof createDestinations>;

const cachedMax = 131_072;

export function createDestinations(db: Database) {
  const find = db.prepare('SELECT 1 FROM destinations WHERE agent_id = ? AND destination = ?');
  const cache = createCache<true>(cachedMax);

  return {
    isKnown(agentId: string, destination: string) {
      const name = destinationName(destination);
      const pair = pairOf(agentId, name);
      if (cache.get(pair)) return true;
      if (!find.get(agentId, name)) return false;
      cache.set(pair, true);
      return true;
    },
    /**
     * Makes the destinations of a let-out call known, in memory. A denied or held call has touched nothing.
     */
    note(call: RecordedCall) {
      for (const name of touchedBy(call)) cache.set(pairOf(call.agentId, name), true);
    },
  };
}

/**
 * Returns a function that adds destinations, each with the time of its first touch, in the running
 * transaction. It returns whether some were forgotten to make room.
 */
export function createDestinationWriter(db: Database): (touched: ReadonlyMap<CallOrigin, number>) => boolean {
  const insert = db.prepare(`
    INSERT INTO destinations (agent_id, destination, first_seen_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
  `);
  const count = db.prepare('SELECT count(*) AS held FROM destinations WHERE agent_id = ?');
  const forget = db.prepare(`
    DELETE FROM destinations WHERE agent_id = ?1 AND destination IN (
      SELECT destination FROM destinations WHERE agent_id = ?1 ORDER BY first_seen_at_ms LIMIT ?2
    )
  `);

  return (touched) => {
    const grown = new Set<string>();
    for (const [origin, atMs] of touched) {
      const { agentId } = origin;
      for (const name of touchedBy(origin)) if (insert.run(agentId, name, atMs) > 0) grown.add(agentId);
    }
    let haveForgotten = false;
    for (const agentId of grown) {
      const held = Number(count.get(agentId)?.['held']);
      if (held <= destinationsMax) continue;
      forget.run(agentId, held - destinationsMax + destinationsMax / 8);
      haveForgotten = true;
    }
    return haveForgotten;
  };
}

const pairOf = (agentId: string, name: string): string => `${agentId} ${name}`;
