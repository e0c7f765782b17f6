import { type Habits, sizedMin, sizeStepMin } from '../../core/history.ts';
import { hourOf, hoursInDay } from './limits.ts';

/*
 * Learns the usual behaviour of an agent, in the same way for every driver. It is kept as sums of whole
 * numbers, so that nodes may add to them in any order. The order matters a little only for sizes far above
 * the usual, which are clipped. An agent takes about half a kilobyte.
 */

/** How long an agent that no longer calls is remembered, in milliseconds. */
export const historyKeptMs = 90 * 86_400_000;

export const habitsWindowMs = 600_000;
const minuteMs = 60_000;
export const minutesInWindow = 10;

/**
 * The number of windows in a week. At as many windows with calls all sums are halved, so that older behaviour
 * weighs less.
 */
export const windowsMax = 1_008;

export interface HabitSums {
  calls: number;
  firstMs: number;
  /** The number of the running window, counted since 1970. `inWindow` has the calls in it. */
  window: number;
  inWindow: number;
  /** The number of windows with calls, the running one included. */
  windows: number;
  sized: number;
  sizeSum: number;
  sizeSquares: number;
  /** Calls by the hour of the day. */
  readonly hours: number[];
}

export const noSums = (): HabitSums => ({
  calls: 0,
  firstMs: 0,
  window: 0,
  inWindow: 0,
  windows: 0,
  sized: 0,
  sizeSum: 0,
  sizeSquares: 0,
  hours: Array.from({ length: hoursInDay }, () => 0),
});

export const windowOf = (ms: number): number => Math.floor(ms / habitsWindowMs);
export const minuteOf = (ms: number): number => Math.floor(ms / minuteMs);

/** Adds calls of one window and one size class that were let out. */
export function addCalls(sums: HabitSums, firstMs: number, count: number, sizeClass: number): void {
  const window = windowOf(firstMs);
  if (window > sums.window) {
    if (sums.windows >= windowsMax) halve(sums);
    sums.window = window;
    sums.windows += 1;
    sums.inWindow = 0;
  }
  // A late call counts in the sums, but not in a window that is over.
  if (window === sums.window) sums.inWindow += count;
  sums.calls += count;
  if (sums.firstMs === 0 || firstMs < sums.firstMs) sums.firstMs = firstMs;
  const hour = hourOfDay(firstMs);
  sums.hours[hour] = hourAt(sums, hour) + count;
  if (sizeClass === 0) return;
  const taught = clipped(sums, sizeClass);
  sums.sized += count;
  sums.sizeSum += count * taught;
  sums.sizeSquares += count * taught * taught;
}

/**
 * Returns the size class to learn. Sizes far above the usual are clipped, else a few of them would make the
 * next ones usual.
 */
const clipped = ({ sized, sizeSum }: HabitSums, sizeClass: number): number =>
  sized < sizedMin ? sizeClass : Math.min(sizeClass, Math.round(sizeSum / sized) + sizeStepMin);

function halve(sums: HabitSums): void {
  for (const name of ['calls', 'windows', 'sized', 'sizeSum', 'sizeSquares'] as const)
    sums[name] = Math.floor(sums[name] / 2);
  sums.hours.forEach((count, hour) => {
    sums.hours[hour] = Math.floor(count / 2);
  });
}

const hourOfDay = (ms: number): number => hourOf(ms) % hoursInDay;
const hourAt = ({ hours }: HabitSums, hour: number): number => hours[(hour + hoursInDay) % hoursInDay] ?? 0;

/** Returns the behaviour that a call at that time is compared with. */
export function habitsAt(sums: HabitSums, nowMs: number, lately: number, mutations: number): Habits {
  const hour = hourOfDay(nowMs);
  const isRunning = sums.windows > 0 && sums.window === windowOf(nowMs);
  return {
    calls: sums.calls,
    firstMs: sums.firstMs,
    callsAroundHour: hourAt(sums, hour - 1) + hourAt(sums, hour) + hourAt(sums, hour + 1),
    sized: sums.sized,
    sizeSum: sums.sizeSum,
    sizeSquares: sums.sizeSquares,
    windows: isRunning ? sums.windows - 1 : sums.windows,
    windowCalls: isRunning ? sums.calls - sums.inWindow : sums.calls,
    lately,
    mutations,
  };
}

export const mutationsMax = 10;

/** Returns the times of the last ten writes, those of this call first. */
export const withMutations = (times: readonly number[], nowMs: number, count: number): readonly number[] => [
  ...Array<number>(Math.min(count, mutationsMax)).fill(nowMs),
  ...times.slice(0, Math.max(0, mutationsMax - count)),
];

/**
 * Counts the writes of the last minute. It also takes times within the next minute, since the clock may have
 * been set back.
 */
export function mutationsAt(times: readonly number[], nowMs: number): number {
  let count = 0;
  for (const time of times) if (Math.abs(nowMs - time) < minuteMs) count += 1;
  return count;
}
