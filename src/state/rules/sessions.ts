import type { SessionRecord } from '../port/sessions.ts';

/** A session ends when it was not used for so long, and in any case that long after it was opened. */
export const sessionIdleMs = 30 * 60_000;
export const sessionLifeMs = 12 * 3_600_000;
/** Its use is noted no more often than this. */
export const sessionTouchMs = 60_000;

/** Sessions that one secret, and one tenant, may have at once. */
export const sessionsPerSecretMax = 20;
export const sessionsMax = 200;

export const idleEndOf = ({ seenAtMs, createdAtMs }: SessionRecord): number =>
  Math.min(seenAtMs + sessionIdleMs, createdAtMs + sessionLifeMs);

export const hasSessionEnded = (session: SessionRecord, nowMs: number): boolean =>
  nowMs >= idleEndOf(session);

/** Returns the sessions that go when this one is added. */
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

/** Returns those that a list shows. */
export const liveSessions = (all: readonly SessionRecord[], nowMs: number): readonly SessionRecord[] =>
  all
    .filter((it) => !hasSessionEnded(it, nowMs))
    .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.sessionId < b.sessionId ? -1 : 1));
