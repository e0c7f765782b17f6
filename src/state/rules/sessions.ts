import type { SessionRecord } from '../port/sessions.ts';
import { isFromWrongClock } from './clock-skew.ts';

/**
 * How long a session may be unused before it ends. In any case it ends `sessionLifeMs` after it was opened.
 */
export const sessionIdleMs = 30 * 60_000;
export const sessionLifeMs = 12 * 3_600_000;
/** The shortest time between two notes of a session's use. */
export const sessionTouchMs = 60_000;

/** The limit of sessions of one secret at once. `sessionsMax` is that of one tenant. */
export const sessionsPerSecretMax = 20;
export const sessionsMax = 200;

export const idleEndOf = ({ seenAtMs, createdAtMs }: SessionRecord): number =>
  Math.min(seenAtMs + sessionIdleMs, createdAtMs + sessionLifeMs);

/** Tells whether a session has ended. One that was used in the future has: a clock was set back meanwhile. */
export const hasSessionEnded = (session: SessionRecord, nowMs: number): boolean =>
  nowMs >= idleEndOf(session) || isFromWrongClock(session.seenAtMs, nowMs);

/**
 * Returns the sessions that end when `added` is: those that have ended and, beyond the bounds, those unused
 * for longest.
 */
export function sessionsToEnd(
  standing: readonly SessionRecord[],
  added: SessionRecord,
): readonly SessionRecord[] {
  const ended = standing.filter((it) => hasSessionEnded(it, added.createdAtMs));
  const live = standing
    .filter((it) => !ended.includes(it))
    .sort((a, b) => a.seenAtMs - b.seenAtMs || (a.sessionId < b.sessionId ? -1 : 1));
  const ofSecret = live.filter((it) => it.secretHash === added.secretHash);
  const over = ofSecret.slice(0, Math.max(0, ofSecret.length + 1 - sessionsPerSecretMax));
  const rest = live.filter((it) => !over.includes(it));
  return [...ended, ...over, ...rest.slice(0, Math.max(0, rest.length + 1 - sessionsMax))];
}

/** Returns the sessions that have not ended, the last opened first. */
export const liveSessions = (all: readonly SessionRecord[], nowMs: number): readonly SessionRecord[] =>
  all
    .filter((it) => !hasSessionEnded(it, nowMs))
    .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.sessionId < b.sessionId ? -1 : 1));
