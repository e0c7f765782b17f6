import type { Habits } from '../../core/history.ts';
import { safely } from '../../core/safe-name.ts';
import { callsMin } from './baseline.ts';
import type { SignalEngine } from './engine.ts';

/**
 * The number of ten-minute windows with calls from which it is known what is normal. Together they are an
 * hour.
 */
export const windowsMin = 6;
/** The number of calls in ten minutes below which there is no burst, however seldom the agent calls. */
export const burstCallsMin = 30;
const timesNormal = 5;

/**
 * Returns the number of calls in ten minutes from which on there is a burst; undefined while it is not known
 * what is normal.
 */
export function burstFrom({ windows, windowCalls }: Habits): number | undefined {
  if (windows < windowsMin || windowCalls < callsMin) return undefined;
  return Math.max(burstCallsMin, Math.ceil((timesNormal * windowCalls) / windows));
}

export function isVolumeBurst(habits: Habits): boolean {
  const from = burstFrom(habits);
  return from !== undefined && habits.lately >= from;
}

/** Reports at least five times the agent's normal calls in ten minutes, on all nodes together. */
export const volumeBurst: SignalEngine = {
  name: 'baseline',
  assess({ history: { habits } }) {
    if (!isVolumeBurst(habits)) return undefined;
    const normal = Math.round((10 * habits.windowCalls) / habits.windows) / 10;
    return {
      engine: 'baseline',
      name: 'VOLUME_BURST',
      score: 0.8,
      details: safely`${habits.lately} calls in the last ten minutes, where ${normal} are normal for the agent`,
    };
  },
};
