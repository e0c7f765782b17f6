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
 * Calls are counted by what most searches ask for. A search skips days, hours and minutes whose counts have
 * none of it. So what one of a million traces has is found by reading a few minutes.
 */

/** A name that calls are counted by. */
export interface CountedName {
  readonly dimension: StatDimension | SearchDimension;
  readonly name: string;
}

export interface LikelySource {
  /**
   * Yields the starts of windows that have traces, newest first, from that of `newestMs` to that of
   * `oldestMs`.
   */
  starts(newestMs: number, oldestMs: number): Iterable<number> | AsyncIterable<number>;
  /**
   * Tells for each bucket, by its start, whether calls in it may have all these names. It is false only where
   * the bucket has counts, and none of one of the names.
   */
  mayHave(
    interval: StatInterval,
    starts: readonly number[],
    names: readonly CountedName[],
  ): MaybePromise<readonly boolean[]>;
}

/** The number of buckets that are looked at together, backwards, so that empty ones are skipped in a row. */
const bucketsAtOnce = { day: 8, hour: 24, minute: 60 } as const;
const coarsestFirst = ['day', 'hour', 'minute'] as const;
/** The leaps over buckets after which other work gets its turn, and the search may end. */
const leapsPerTurn = 8;

/** Ends a search that leaps for long without finding anything, and says how far it came. */
export interface SearchReach {
  /** Tells whether the search has taken long enough. */
  isLate(): boolean;
  /** The time that the search has reached, set where it ended early. Later traces were all looked at. */
  leftMs?: number;
}

/** Yields the starts of windows, without those in which, by the counts, nothing passes the filter. */
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

/**
 * Returns a function that finds the longest bucket around a time that lacks one of these names. It resolves
 * to the bucket's start; undefined where there is none.
 */
function createBarrenSearch(source: LikelySource, names: readonly CountedName[]) {
  const known = { day: new Map<number, boolean>(), hour: new Map(), minute: new Map() };
  // A late trace may be missing from a bucket that was forgotten. So buckets that are soon forgotten do not
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
