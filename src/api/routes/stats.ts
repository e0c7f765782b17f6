import { z } from 'zod';
import { decisions } from '../../core/call.ts';
import type { StatBucket } from '../../state/store.ts';
import {
  addCounts,
  noCounts,
  otherName,
  type StatInterval,
  type StatNames,
  statIntervalNames,
  statIntervals,
  statKeptMs,
  statNamesMax,
  statStart,
} from '../../state/traces/stats.ts';
import { instant, time, toIso } from '../fields/fields.ts';
import { invalid } from '../fields/invalid.ts';
import { routesOf } from '../route.ts';

const route = routesOf('activity');

/** Buckets that one answer may have: a day of minutes, two months of hours. */
const bucketsMax = 1_500;
/** Buckets of a chart whose start is not given, by interval. */
const bucketsShown: Readonly<Record<StatInterval, number>> = { minute: 60, hour: 24, day: 30 };

const count = z.int();
const counted = z.array(z.object({ name: z.string(), count })).describe('The most frequent first.');
const dimension = z.object({
  names: counted,
  other: count.describe('Of all other names.'),
});

/** `GET /v1/stats` counts calls over time and by their properties, refused ones included. */
export const stats = route('GET /v1/stats', {
  summary: 'Counts of calls over time',
  access: ['activity:read', 'usage:read'],
  query: z.object({
    interval: z.enum(statIntervalNames).default('hour'),
    from: instant.optional().describe('Inclusive; the bucket that it lies in is the first one.'),
    to: instant.optional().describe('Exclusive; now where it is left out.'),
    top: z.coerce.number().int().min(1).max(statNamesMax).default(20).describe('Names of each kind.'),
  }),
  answer: z
    .object({
      tenant_id: z.string(),
      interval: z.enum(statIntervalNames),
      from: time,
      to: time,
      total: count,
      series: z
        .array(z.object({ at: time, total: count, decisions: z.record(z.enum(decisions), count) }))
        .describe('A bucket for each interval, in order, empty ones included.'),
      decisions: dimension,
      reasons: dimension,
      bands: dimension,
      tools: dimension,
      agents: dimension.describe('By agent_id.'),
    })
    .meta({ id: 'Stats' }),
  isListing: true,
  async handle({ gate, query, tenantId, nowMs }) {
    const tenant = tenantId();
    const { interval, top } = query;
    const keptMs = gate.tenants.find(tenant)?.retentionMs ?? 0;
    const range = rangeOf(query, nowMs, interval === 'day' ? keptMs : statKeptMs[interval]);
    const { fromMs, beforeMs } = range;
    const sums = noCounts();
    const [buckets, ...parts] = await Promise.all([
      gate.store.callStats(tenant, interval, fromMs, beforeMs, 'decision'),
      ...partsOf(interval, range).map((it) =>
        gate.store.callStats(tenant, it.interval, it.fromMs, it.beforeMs),
      ),
    ]);
    for (const { counts } of parts.flat()) addCounts(sums, counts, Number.POSITIVE_INFINITY);
    return {
      tenant_id: tenant,
      interval,
      from: toIso(range.fromMs),
      to: toIso(range.beforeMs),
      total: sumOf(sums.decision),
      series: toSeries(buckets, interval, range),
      decisions: toTop(sums.decision, top),
      reasons: toTop(sums.reason, top),
      bands: toTop(sums.band, top),
      tools: toTop(sums.tool, top),
      agents: toTop(sums.agent, top),
    };
  },
});

type Range = ReturnType<typeof rangeOf>;

/** Splits a range so that few buckets have all of its counts. Whole hours of minutes are read as hours. */
function partsOf(
  interval: StatInterval,
  { fromMs, beforeMs }: Range,
): (Range & { interval: StatInterval })[] {
  const hourMs = statIntervals.hour;
  const [first, last] = [Math.ceil(fromMs / hourMs) * hourMs, Math.floor(beforeMs / hourMs) * hourMs];
  if (interval !== 'minute' || first >= last) return [{ interval, fromMs, beforeMs }];
  return [
    { interval, fromMs, beforeMs: first },
    { interval: 'hour', fromMs: first, beforeMs: last },
    { interval, fromMs: last, beforeMs },
  ];
}

/**
 * Returns the range that is asked for in whole buckets, none of them from before what is kept. Throws
 * VALIDATION_FAILED where it is too long or ends before it begins.
 */
function rangeOf(
  { interval, from, to }: { interval: StatInterval; from?: number | undefined; to?: number | undefined },
  nowMs: number,
  keptMs: number,
) {
  const lengthMs = statIntervals[interval];
  const beforeMs = Math.ceil((to ?? nowMs + 1) / lengthMs) * lengthMs;
  const asked = statStart(from ?? beforeMs - bucketsShown[interval] * lengthMs, interval);
  const fromMs = Math.min(beforeMs, Math.max(asked, statStart(nowMs - Math.min(keptMs, nowMs), interval)));
  if (from !== undefined && from > (to ?? nowMs))
    throw invalid([{ path: 'from', message: 'must not be after to' }]);
  if (beforeMs - fromMs > bucketsMax * lengthMs)
    throw invalid([{ path: 'from', message: `there are more than ${bucketsMax} buckets until to` }]);
  return { fromMs, beforeMs };
}

function toSeries(buckets: readonly StatBucket[], interval: StatInterval, { fromMs, beforeMs }: Range) {
  const byStart = new Map(buckets.map((it) => [it.startMs, it.counts.decision]));
  const lengthMs = statIntervals[interval];
  return Array.from({ length: (beforeMs - fromMs) / lengthMs }, (_, at) => {
    const startMs = fromMs + at * lengthMs;
    const names = byStart.get(startMs) ?? {};
    const byDecision = Object.fromEntries(decisions.map((it) => [it, names[it] ?? 0]));
    return { at: toIso(startMs), total: sumOf(names), decisions: byDecision };
  });
}

function toTop(names: StatNames, top: number) {
  const known = Object.entries(names).filter(([name]) => name !== otherName);
  known.sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
  const shown = known.slice(0, top).map(([name, calls]) => ({ name, count: calls }));
  const others = known.slice(top).reduce((sum, [, calls]) => sum + calls, names[otherName] ?? 0);
  return { names: shown, other: others };
}

const sumOf = (names: StatNames): number => Object.values(names).reduce((sum, calls) => sum + calls, 0);
