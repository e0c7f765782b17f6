import { decisions } from '../../core/call.ts';
import type { StatBucket, Store } from '../store.ts';
import type { LikelySource } from '../traces/likely.ts';
import {
  isSearchDimension,
  noCounts,
  otherName,
  type StatCounts,
  type StatInterval,
  statDimensions,
  statIntervalNames,
  statIntervals,
  statKeptMs,
  statStart,
} from '../traces/stats.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Link } from './link/link.ts';
import type { CallNames } from './link/names.ts';
import { scripts } from './scripts/scripts.ts';

/*
 * Reads counts of calls. Each minute, hour and day is a hash with the fields `<dimension>:<name>`. Its field
 * `<dimension>` has the number of names.
 */

/** Returns the names of the three buckets of a minute, in the order that `record.lua` takes them. */
export const statKeys = (names: CallNames, minuteMs: number): readonly string[] =>
  statIntervalNames.map((interval) => names.stats(statIntervals[interval], statStart(minuteMs, interval)));

/** Returns how long each of the three buckets is kept after the last call that it counts, in milliseconds. */
export const statLives = (keptMs: number): readonly number[] =>
  statIntervalNames.map((it) => (it === 'day' ? keptMs : statKeptMs[it]) + statIntervals[it]);

/** The limit of buckets that one script reads; Redis does nothing else meanwhile. */
const bucketsAtOnce = 32;
/** The limit of buckets where a script reads a few fields of each. */
const fewFieldsAtOnce = 240;

export function createStats({ connection, names }: Link): Pick<Store, 'callStats'> {
  async function read(tenantId: string, interval: StatInterval, starts: readonly number[]) {
    const keys = starts.map((it) => names.of(tenantId).stats(statIntervals[interval], it));
    const all = (await connection.run(scripts.usage, keys, [])) as string[][];
    return starts.map((startMs, at): StatBucket => ({ startMs, counts: toCounts(all[at] ?? []) }));
  }

  async function readDecisions(tenantId: string, interval: StatInterval, starts: readonly number[]) {
    const all = await readFields(connection, names.of(tenantId), {
      interval,
      starts,
      fields: decisionFields,
    });
    const buckets = starts.map((startMs, index): StatBucket => {
      const found = all[index] ?? [];
      const flat = decisionFields.flatMap((it, at) => (found[at] == null ? [] : [it, found[at]]));
      return { startMs, counts: toCounts(flat) };
    });
    return buckets.filter(({ counts }) => Object.keys(counts.decision).length > 0);
  }

  return {
    async callStats(tenantId, interval, fromMs, beforeMs, only) {
      const lengthMs = statIntervals[interval];
      const starts: number[] = [];
      for (let at = Math.ceil(fromMs / lengthMs) * lengthMs; at < beforeMs; at += lengthMs) starts.push(at);
      if (only) return readDecisions(tenantId, interval, starts);
      const buckets: StatBucket[] = [];
      for (let at = 0; at < starts.length; at += bucketsAtOnce)
        buckets.push(...(await read(tenantId, interval, starts.slice(at, at + bucketsAtOnce))));
      return buckets.filter(({ counts }) => Object.keys(counts.decision).length > 0);
    },
  };
}

interface AskedFields {
  readonly interval: StatInterval;
  readonly starts: readonly number[];
  readonly fields: readonly string[];
}

/** Returns a few fields of each bucket, all asked for at once. */
async function readFields(
  connection: RedisConnection,
  names: CallNames,
  { interval, starts, fields }: AskedFields,
): Promise<(string | null)[][]> {
  const keys = starts.map((it) => names.stats(statIntervals[interval], it));
  const asked: Promise<unknown>[] = [];
  for (let at = 0; at < keys.length; at += fewFieldsAtOnce)
    asked.push(connection.run(scripts.counts, keys.slice(at, at + fewFieldsAtOnce), fields));
  return ((await Promise.all(asked)) as (string | null)[][][]).flat();
}

const decisionFields = decisions.map((it) => `decision:${it}`);

/** Returns `LikelySource.mayHave` of `traces/likely.ts`. */
export const redisMayHave =
  (connection: RedisConnection, names: CallNames): LikelySource['mayHave'] =>
  async (interval, starts, wanted) => {
    const ofNames = wanted.flatMap(({ dimension, name }) => [
      `${dimension}:${name}`,
      `${dimension}:${otherName}`,
    ]);
    const fields = ['named', ...decisionFields, ...ofNames];
    const all = await readFields(connection, names, { interval, starts, fields });
    return all.map((asked) => {
      const [named, ...counted] = asked.map((it) => it ?? undefined);
      // Each call has one decision, so the decisions add up to the calls.
      const calls = counted.slice(0, decisionFields.length).reduce((sum, it) => sum + Number(it ?? 0), 0);
      const found = counted.slice(decisionFields.length);
      const isWhole = Number(named ?? 0) === calls;
      return (
        calls === 0 ||
        wanted.every(
          ({ dimension }, at) =>
            found[2 * at] !== undefined ||
            found[2 * at + 1] !== undefined ||
            (!isWhole && isSearchDimension(dimension)),
        )
      );
    });
  };

/** Parses an answer of HGETALL, in which names and values alternate. */
function toCounts(flat: readonly string[]): StatCounts {
  const counts = noCounts();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const field = flat[at] ?? '';
    const colon = field.indexOf(':');
    const dimension = statDimensions.find((it) => it === field.slice(0, Math.max(colon, 0)));
    if (dimension) counts[dimension][field.slice(colon + 1)] = Number(flat[at + 1]);
  }
  return counts;
}
