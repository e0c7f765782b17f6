import { type Decision, decisions } from '../../../core/call.ts';
import { kept } from '../../../util/kept.ts';
import type { CallOrigin } from '../../journal/line.ts';
import { hourOf, hoursInDay } from '../../rules/limits.ts';
import type { AgentUsage, CredentialUse } from '../../store.ts';
import type { Database, Row } from '../sqlite.ts';

/*
 * Keeps counts on disk: of tenants by month, of keys, tenants and agents by hour. They are made of journal
 * lines in the transaction that stores these lines. So each call counts once, however often it is shipped and
 * whenever the process is killed.
 */

/** The calls of one origin within ten minutes. */
export interface CallTally {
  readonly origin: CallOrigin;
  /** The number of the window, as `windowOf` of `habits.ts` returns it. */
  readonly window: number;
  readonly hour: number;
  count: number;
  firstMs: number;
  lastMs: number;
}

export type CounterReader = ReturnType<typeof createCounterReader>;

/** Returns the number of a calendar month (UTC), counted from the year 0. */
export function monthNumberOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

const ever = 0;

/** The beginning of a counter that counts the use of a credential; the credential's name follows. */
const credentialCounter = 'credential.';
/** Returns the subject under which a tenant's credentials are counted. No id looks like it. */
const credentialsOf = (tenantId: string): string => `credentials of ${tenantId}`;

/** The stored counts of a key or an agent: totals by counter, and hours, each with its count, by counter. */
interface Counts {
  readonly total: Map<string, number>;
  readonly byHour: Map<string, (readonly [hour: number, count: number])[]>;
  firstMs: number | null;
  lastMs: number | null;
}

const nothing = (): Counts => ({ total: new Map(), byHour: new Map(), firstMs: null, lastMs: null });

export function createCounterReader(db: Database) {
  const since = db.prepare(
    'SELECT period, count FROM counters WHERE subject = ? AND counter = ? AND period >= ?',
  );
  const at = db.prepare('SELECT count FROM counters WHERE subject = ? AND counter = ? AND period = ?');
  const countsOf = db.prepare(`
    SELECT subject, counter, period, count FROM counters
    WHERE subject IN (SELECT value FROM json_each(?)) AND (period = ${ever} OR period >= ?)
  `);
  const seenOf = db.prepare(`
    SELECT subject, first_ms, last_ms FROM seen WHERE subject IN (SELECT value FROM json_each(?)) AND kind = ?
  `);

  const ofCredentials = db.prepare(`
    SELECT counter, count, last_ms FROM counters JOIN seen ON seen.subject = counters.subject AND kind = counter
    WHERE counters.subject = ? AND counter GLOB '${credentialCounter}*' AND period = ${ever}
  `);

  /** Reads the counts of all ids in two statements, however many ids there are. */
  function read(kind: 'key' | 'agent', ids: readonly string[], fromHour: number): Map<string, Counts> {
    const all = new Map<string, Counts>();
    const list = JSON.stringify(ids);
    for (const row of countsOf.all(list, fromHour)) addTo(all, row);
    for (const { subject, first_ms, last_ms } of seenOf.all(list, kind)) {
      const counts = all.get(String(subject));
      if (counts) Object.assign(counts, { firstMs: Number(first_ms), lastMs: Number(last_ms) });
    }
    return all;
  }

  return {
    /** Returns the counts of each key, in the order of the ids. */
    ofKeys(keyIds: readonly string[], fromHour: number) {
      const all = read('key', keyIds, fromHour);
      return keyIds.map((id) => toKeyCounts(all.get(id) ?? nothing()));
    },
    /** Returns the hours in which calls of the tenant were refused with RATE_LIMITED, each with the count. */
    limitedOf: (tenantId: string, fromHour: number) =>
      since
        .all(tenantId, 'tenant.limited', fromHour)
        .map((row) => [Number(row['period']), Number(row['count'])] as const),
    callsInMonth: (tenantId: string, month: number) =>
      Number(at.get(tenantId, 'tenant.calls', month)?.['count'] ?? 0),
    /** Returns the use of the tenant's credentials, by name. */
    ofCredentials: (tenantId: string) =>
      new Map(ofCredentials.all(credentialsOf(tenantId)).map(toCredentialUse)),
    /** Returns the usage of each agent, in the order of the ids. */
    ofAgents(agentIds: readonly string[], nowMs: number) {
      const all = read('agent', agentIds, hourOf(nowMs) - hoursInDay + 1);
      return agentIds.map((id) => toAgentUsage(all.get(id) ?? nothing(), nowMs));
    },
  };
}

function toCredentialUse({ counter, count, last_ms }: Row): [name: string, use: CredentialUse] {
  const name = String(counter).slice(credentialCounter.length);
  return [name, { uses: Number(count), lastUsedAtMs: Number(last_ms) }];
}

function addTo(all: Map<string, Counts>, row: Row): void {
  const { total, byHour } = kept(all, String(row['subject']), nothing);
  const [counter, period, count] = [String(row['counter']), Number(row['period']), Number(row['count'])];
  if (period === ever) total.set(counter, count);
  else kept(byHour, counter, () => []).push([period, count]);
}

/** Returns the stored counts of a key, which are read when it is first used. */
const toKeyCounts = ({ total, byHour, lastMs }: Counts) => ({
  uses: total.get('key.uses') ?? 0,
  blocked: total.get('key.blocked') ?? 0,
  lastSeenAtMs: lastMs,
  /** The hours since `fromHour`, each with its count of calls. */
  callsByHour: byHour.get('key.calls') ?? [],
});

function toAgentUsage({ total, byHour, firstMs, lastMs }: Counts, nowMs: number): AgentUsage {
  const last24h = (decision: Decision): number =>
    (byHour.get(`agent.${decision}`) ?? [])
      .filter(([hour]) => hour <= hourOf(nowMs))
      .reduce((sum, [, count]) => sum + count, 0);
  return {
    firstSeenAtMs: firstMs,
    lastSeenAtMs: lastMs,
    callsTotal: total.get('agent.calls') ?? 0,
    decisions24h: Object.fromEntries(decisions.map((it) => [it, last24h(it)])) as Record<Decision, number>,
  };
}

/** The hours that are kept on disk. They are more than count, since a clock may be set back. */
const hoursKept = 48;

/** Returns a function that adds to the counts, in the running transaction. */
export function createCounterWriter(db: Database): (tallies: readonly CallTally[]) => void {
  const add = db.prepare(`
    INSERT INTO counters (subject, counter, period, count) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET count = count + excluded.count
  `);
  const forget = db.prepare('DELETE FROM counters WHERE subject = ? AND counter = ? AND period < ?');
  const see = db.prepare(`
    INSERT INTO seen (subject, kind, first_ms, last_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)
  `);

  function addHour(subject: string, counter: string, { hour, count }: CallTally): void {
    add.run(subject, counter, hour, count);
    forget.run(subject, counter, hour - hoursKept);
  }

  const outcomes: Readonly<Record<CallOrigin['outcome'], (tally: CallTally) => void>> = {
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
      if (origin.credential !== undefined) {
        const counter = credentialCounter + origin.credential;
        add.run(credentialsOf(origin.tenantId), counter, ever, count);
        see.run(credentialsOf(origin.tenantId), counter, firstMs, lastMs);
      }
    }
  };
}

/** Joins tallies that add to the same counts. A batch has many origins, and few keys. */
function sumUp(tallies: readonly CallTally[]): Iterable<CallTally> {
  const sums = new Map<string, CallTally>();
  for (const { origin, window, hour, count, firstMs, lastMs } of tallies) {
    const { tenantId, agentId, keyId, decision, outcome, credential } = origin;
    const name = JSON.stringify([tenantId, agentId, keyId, decision, outcome, hour, credential]);
    const sum = sums.get(name);
    if (!sum) {
      sums.set(name, { origin, window, hour, count, firstMs, lastMs });
      continue;
    }
    sum.count += count;
    sum.firstMs = Math.min(sum.firstMs, firstMs);
    sum.lastMs = Math.max(sum.lastMs, lastMs);
  }
  return sums.values();
}
