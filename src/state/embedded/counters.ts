import { type Decision, decisions } from '../../call.ts';
import type { Origin } from '../journal/line.ts';
import { hourOf, hoursInDay } from '../limits.ts';
import type { AgentUsage } from '../store.ts';
import type { Database } from './sqlite.ts';

/*
 * Counts on disk: of tenants by month, of keys, tenants and agents by hour. They are made of the lines of the journal, in the
 * transaction that stores these lines, so each call is counted exactly once, however often it is shipped and whenever the process is
 * killed.
 */

/** Calls of one origin within one hour. */
export interface Tally {
  readonly origin: Origin;
  readonly hour: number;
  count: number;
  firstMs: number;
  lastMs: number;
}

/** What a key has behind it when it is first seen. */
export interface StoredKeyCounts {
  readonly uses: number;
  readonly blocked: number;
  readonly lastSeenAtMs: number | null;
  /** Hour and count, of those since `fromHour`. */
  readonly callsByHour: readonly (readonly [number, number])[];
}

export interface CounterReader {
  ofKey(keyId: string, fromHour: number): StoredKeyCounts;
  /** Refused with RATE_LIMITED, as hour and count. */
  limitedOf(tenantId: string, fromHour: number): readonly (readonly [number, number])[];
  callsInMonth(tenantId: string, month: number): number;
  ofAgent(agentId: string, nowMs: number): AgentUsage;
}

/** Calendar months (UTC) since the year 0. */
export function monthNumberOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

const ever = 0;

export function createCounterReader(db: Database): CounterReader {
  const since = db.prepare(
    'SELECT period, count FROM counters WHERE subject = ? AND counter = ? AND period >= ?',
  );
  const at = db.prepare('SELECT count FROM counters WHERE subject = ? AND counter = ? AND period = ?');
  const seen = db.prepare('SELECT first_ms, last_ms FROM seen WHERE subject = ? AND kind = ?');

  const byHour = (subject: string, counter: string, fromHour: number) =>
    since
      .all(subject, counter, fromHour)
      .map((row) => [Number(row['period']), Number(row['count'])] as const);
  const countAt = (subject: string, counter: string, period: number): number =>
    Number(at.get(subject, counter, period)?.['count'] ?? 0);

  return {
    ofKey(keyId, fromHour) {
      const row = seen.get(keyId, 'key');
      return {
        uses: countAt(keyId, 'key.uses', ever),
        blocked: countAt(keyId, 'key.blocked', ever),
        lastSeenAtMs: row ? Number(row['last_ms']) : null,
        callsByHour: byHour(keyId, 'key.calls', fromHour),
      };
    },
    limitedOf: (tenantId, fromHour) => byHour(tenantId, 'tenant.limited', fromHour),
    callsInMonth: (tenantId, month) => countAt(tenantId, 'tenant.calls', month),
    ofAgent(agentId, nowMs) {
      const row = seen.get(agentId, 'agent');
      const now = hourOf(nowMs);
      const last24h = (decision: Decision): number =>
        byHour(agentId, `agent.${decision}`, now - hoursInDay + 1)
          .filter(([hour]) => hour <= now)
          .reduce((sum, [, count]) => sum + count, 0);
      return {
        firstSeenAtMs: row ? Number(row['first_ms']) : null,
        lastSeenAtMs: row ? Number(row['last_ms']) : null,
        callsTotal: countAt(agentId, 'agent.calls', ever),
        decisions24h: Object.fromEntries(decisions.map((it) => [it, last24h(it)])) as Record<
          Decision,
          number
        >,
      };
    },
  };
}

/** Hours on disk are kept a little longer than they count: a clock may be set back. */
const hoursKept = 48;

/** Adds to the counts, in the transaction that is running. */
export function createCounterWriter(db: Database): (tallies: readonly Tally[]) => void {
  const add = db.prepare(`
    INSERT INTO counters (subject, counter, period, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count
  `);
  const forget = db.prepare('DELETE FROM counters WHERE subject = ? AND counter = ? AND period < ?');
  const see = db.prepare(`
    INSERT INTO seen (subject, kind, first_ms, last_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)
  `);

  function addHour(subject: string, counter: string, { hour, count }: Tally): void {
    add.run(subject, counter, hour, count);
    forget.run(subject, counter, hour - hoursKept);
  }

  const outcomes: Readonly<Record<Origin['outcome'], (tally: Tally) => void>> = {
    call(tally) {
      const { origin, count, firstMs, lastMs } = tally;
      add.run(origin.tenantId, 'tenant.calls', monthNumberOf(firstMs), count);
      add.run(origin.keyId, 'key.uses', ever, count);
      addHour(origin.keyId, 'key.calls', tally);
      see.run(origin.keyId, 'key', firstMs, lastMs);
    },
    blocked: ({ origin, count }) => void add.run(origin.keyId, 'key.blocked', ever, count),
    limited: (tally) => addHour(tally.origin.tenantId, 'tenant.limited', tally),
    refused: () => {},
  };

  return (tallies) => {
    for (const tally of sumUp(tallies)) {
      const { origin, count, firstMs, lastMs } = tally;
      outcomes[origin.outcome](tally);
      add.run(origin.agentId, 'agent.calls', ever, count);
      addHour(origin.agentId, `agent.${origin.decision}`, tally);
      see.run(origin.agentId, 'agent', firstMs, lastMs);
    }
  };
}

/** Those that differ in nothing but the destination become one: a batch has many origins, and few keys. */
function sumUp(tallies: readonly Tally[]): Iterable<Tally> {
  const sums = new Map<string, Tally>();
  for (const { origin, hour, count, firstMs, lastMs } of tallies) {
    const { tenantId, agentId, keyId, decision, outcome } = origin;
    const name = JSON.stringify([tenantId, agentId, keyId, decision, outcome, hour]);
    const sum = sums.get(name);
    if (!sum) {
      sums.set(name, { origin, hour, count, firstMs, lastMs });
      continue;
    }
    sum.count += count;
    sum.firstMs = Math.min(sum.firstMs, firstMs);
    sum.lastMs = Math.max(sum.lastMs, lastMs);
  }
  return sums.values();
}
