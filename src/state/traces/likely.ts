import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MaybePromise, TraceFilter } from '../store.ts';
import {
  type SearchDimension,
  type StatDimension,
  type StatInterval,
  statIntervals,
  statKeptMs,
  statName,
  statStart,
} from './stats.ts';

/*
 * Calls are counted by what most searches ask for. Days, hours and minutes whose counts have none of it are
 * passed over unread. What is in a million traces once is found in the few minutes that have it.
 */

/** A name that calls are counted by. */
export interface CountedName {
  readonly dimension: StatDimension | SearchDimension;
  readonly name: string;
}

export interface LikelySource {
  /** The starts of windows that have traces, newest first: from that of `newestMs` to that of `oldestMs`. */
  starts(newestMs: number, oldestMs: number): Iterable<number> | AsyncIterable<number>;
  /**
   * Tells for each bucket that begins then whether calls in it may have all these names. It is false only
   * where there are counts, and none of one of them.
   */
  mayHave(
    interval: StatInterval,
    starts: readonly number[],
    names: readonly CountedName[],
  ): MaybePromise<readonly boolean[]>;
}

/** Buckets that are looked at together, backwards, so that empty ones are skipped in a row. */
const bucketsAtOnce = { day: 8, hour: 24, minute: 60 } as const;
const coarsestFirst = ['day', 'hour', 'minute'] as const;
/** After so many leaps others get their turn, and the search may end. */
const leapsPerTurn = 8;

/** Ends a search that leaps for long without finding anything, and says how far it came. */
export interface SearchReach {
  /** Tells whether it has taken long enough. */
  isLate(): boolean;
  /** Set where it ended before the end: nothing later than this is left. */
  leftMs?: number;
}

/** `starts`, without windows in which, by the counts, there is nothing that the filter takes. */
export async function* likelyStarts(
  source: LikelySource,
  filter: TraceFilter,
  [newestMs, oldestMs]: readonly [newestMs: number, oldestMs: number],
  reach?: SearchReach,
): AsyncGenerator<number> {
  const names = countedNames(filter);
  if (names.length === 0) return yield* source.starts(newestMs, oldestMs);
  const barrenFrom = createBarrenSearch(source, names);
  let leaps = 0;
  let bound: number | undefined = newestMs;
  while (bound !== undefined) {
    const from: number = bound;
    bound = undefined;
    for await (const startMs of source.starts(from, oldestMs)) {
      const barrenMs = await barrenFrom(startMs);
      if (barrenMs === undefined) {
        yield startMs;
        continue;
      }
      bound = barrenMs - 1;
      leaps += 1;
      if (leaps % leapsPerTurn !== 0) break;
      if (reach?.isLate()) {
        reach.leftMs = bound;
        return;
      }
      await nextTurn();
      break;
    }
  }
}

/** Returns where the longest bucket around a time begins that lacks these names; undefined for none. */
function createBarrenSearch(source: LikelySource, names: readonly CountedName[]) {
  const known = { day: new Map<number, boolean>(), hour: new Map(), minute: new Map() };
  // A late trace may be missing from a bucket that was forgotten, so the last buckets before that do not
  // count.
  const isWhole = (interval: StatInterval, startMs: number): boolean =>
    interval === 'day' || startMs > Date.now() - statKeptMs[interval] + 2 * statIntervals[interval];

  async function mayHave(interval: StatInterval, startMs: number): Promise<boolean> {
    const standing = known[interval].get(startMs);
    if (standing !== undefined) return standing;
    const starts = Array.from(
      { length: bucketsAtOnce[interval] },
      (_, nth) => startMs - nth * statIntervals[interval],
    );
    const answers = await source.mayHave(interval, starts, names);
    known[interval] = new Map(starts.map((it, at) => [it, answers[at] ?? true]));
    return answers[0] ?? true;
  }

  return async function barrenFrom(ms: number): Promise<number | undefined> {
    for (const interval of coarsestFirst) {
      const startMs = statStart(ms, interval);
      if (isWhole(interval, startMs) && !(await mayHave(interval, startMs))) return startMs;
    }
    return undefined;
  };
}

function countedNames(filter: TraceFilter): readonly CountedName[] {
  const { reason, agentId, toolName, band, decision, operation, dataClass, tag } = filter;
  const asked: Record<CountedName['dimension'], string | undefined> = {
    reason,
    operation,
    class: dataClass,
    tag,
    agent: agentId,
    tool: toolName,
    band,
    decision,
  };
  return Object.entries(asked)
    .filter((it): it is [CountedName['dimension'], string] => it[1] !== undefined)
    .map(([dimension, name]) => ({ dimension, name: statName(name) }));
}
