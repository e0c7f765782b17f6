import { newId } from '../../core/ids.ts';
import { liveSessions, sessionsToEnd } from '../rules/sessions.ts';
import type { SessionRecord, SessionStore } from '../store.ts';
import type { Link } from './link/link.ts';
import { readAll, readRecord } from './records.ts';

/** The field of a revision that changes with each session that is added. */
const revision = 'sessions';

export function createRedisSessions({ connection, names, commits }: Link): SessionStore {
  const all = (tenantId: string) => readAll<SessionRecord>(connection, names.of(tenantId).sessions);

  return {
    addSession: (session, event) =>
      commits.write(session.tenantId, async (change) => {
        const { sessions, revisions } = change.names;
        // Without this check, two nodes that add a session at once would both count the same ones.
        await change.read(revisions, revision);
        for (const { sessionId } of sessionsToEnd(await all(session.tenantId), session))
          change.drop(sessions, sessionId);
        change.put(revisions, revision, newId());
        change.putRecord(sessions, session.sessionId, session);
        change.audit(event);
      }),

    sessionById: (tenantId, sessionId) => readRecord(connection, names.of(tenantId).sessions, sessionId),

    listSessions: async (tenantId, nowMs) => liveSessions(await all(tenantId), nowMs),

    touchSession: (tenantId, sessionId, nowMs) =>
      commits.write(tenantId, async (change) => {
        const { sessions } = change.names;
        const standing = await change.readRecord<SessionRecord>(sessions, sessionId);
        if (standing && standing.seenAtMs < nowMs)
          change.putRecord(sessions, sessionId, { ...standing, seenAtMs: nowMs });
      }),

    endSession: (tenantId, sessionId, event) =>
      commits.write(tenantId, async (change) => {
        const { sessions } = change.names;
        if ((await change.read(sessions, sessionId)) === undefined) return false;
        change.drop(sessions, sessionId);
        change.audit(event);
        return true;
      }),
  };
}
