import { type Decision, decisions } from '../../core/call.ts';
import { hourOf, hoursInDay } from '../rules/limits.ts';
import type { AgentUsage, KeyUsage, Store, TenantUsage } from '../store.ts';
import type { Link } from './link/link.ts';
import { scripts } from './scripts/scripts.ts';

/*
 * Reads what `ring.lua` counts: a hash in which each period has the field `<name><period % size>` with the
 * text `<period>:<count>`.
 */

type Fields = Readonly<Record<string, string>>;

const slotMs = 10_000;
const slotsInMinute = 6;
const monthsKept = 24;

/** Reads usage, in one command however many keys or agents are asked for. */
export function createUsage({ connection, names }: Link): Pick<Store, 'keyUsage' | 'agentUsage' | 'usageOf'> {
  const read = async (keys: readonly string[]): Promise<readonly Fields[]> =>
    keys.length === 0 ? [] : ((await connection.run(scripts.usage, keys, [])) as unknown[]).map(toFields);

  return {
    async keyUsage(tenantId, keyIds, nowMs) {
      const all = await read(keyIds.map(names.of(tenantId).keyNumbers));
      return all.map((it) => keyUsageOf(it, nowMs));
    },
    async agentUsage(tenantId, agentIds, nowMs) {
      const all = await read(agentIds.map(names.of(tenantId).agentNumbers));
      return all.map((it) => agentUsageOf(it, nowMs));
    },
    async usageOf(tenantId, nowMs) {
      const [fields = {}] = await read([names.of(tenantId).numbers]);
      return tenantUsageOf(fields, nowMs);
    },
  };
}

/** Returns the sum of the last `size` periods, the running one included. */
function sumOf(fields: Fields, name: string, size: number, period: number): number {
  let sum = 0;
  for (let at = 0; at < size; at += 1) {
    const [counted = '', count = '0'] = (fields[`${name}${at}`] ?? '').split(':');
    if (counted !== '' && Number(counted) > period - size && Number(counted) <= period) sum += Number(count);
  }
  return sum;
}

const timeOf = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

const keyUsageOf = (fields: Fields, nowMs: number): KeyUsage => ({
  lastSeenAtMs: timeOf(fields['seen']),
  calls24h: sumOf(fields, 'hour', hoursInDay, hourOf(nowMs)),
  blockedAttempts: Number(fields['blocked'] ?? 0),
  uses: Number(fields['uses'] ?? 0),
});

function agentUsageOf(fields: Fields, nowMs: number): AgentUsage {
  const day = (decision: Decision) => sumOf(fields, decision, hoursInDay, hourOf(nowMs));
  return {
    firstSeenAtMs: timeOf(fields['first']),
    lastSeenAtMs: timeOf(fields['last']),
    callsTotal: Number(fields['total'] ?? 0),
    decisions24h: Object.fromEntries(decisions.map((it) => [it, day(it)])) as Record<Decision, number>,
  };
}

function tenantUsageOf(fields: Fields, nowMs: number): TenantUsage {
  const date = new Date(nowMs);
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth();
  const [counted, used] = (fields[`month${month % monthsKept}`] ?? '').split(':');
  return {
    scansUsed: Number(counted) === month ? Number(used) : 0,
    rateLimitHits24h: sumOf(fields, 'limited', hoursInDay, hourOf(nowMs)),
    currentRatePerMin: sumOf(fields, 'slot', slotsInMinute, Math.floor(nowMs / slotMs)),
  };
}

/** Parses an answer of HGETALL, in which names and values alternate. */
function toFields(flat: unknown): Fields {
  const fields: Record<string, string> = {};
  const list = flat as readonly string[];
  for (let at = 0; at + 1 < list.length; at += 2) fields[String(list[at])] = String(list[at + 1]);
  return fields;
}
