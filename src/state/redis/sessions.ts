import { newId } from '../../core/ids.ts';
import { liveSessions, sessionsToEnd } from '../rules/sessions.ts';
import type { SessionRecord, Store } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { toRecord } from './records.ts';

type Sessions = Pick<Store, 'addSession' | 'sessionById' | 'listSessions' | 'touchSession' | 'endSession'>;

/** Changes with each session that is added. */
const revision = 'sessions';

export function createRedisSessions(connection: RedisConnection, names: Names, commits: Commits): Sessions {
  const all = async (tenantId: string): Promise<readonly SessionRecord[]> => {
    const texts = (await connection.call('HVALS', names.of(tenantId).sessions)) as string[];
    return texts.flatMap((text) => toRecord<SessionRecord>(text) ?? []);
  };

  return {
    addSession: (session, event) =>
      commits.write(session.tenantId, async (change) => {
        const { sessions, revisions } = change.names;
        // Two nodes that add one at once would both count the same ones.
        await change.read(revisions, revision);
        for (const { sessionId } of sessionsToEnd(await all(session.tenantId), session))
          change.drop(sessions, sessionId);
        change.put(revisions, revision, newId());
        change.put(sessions, session.sessionId, JSON.stringify(session));
        change.audit(event);
      }),

    sessionById: async (tenantId, sessionId) =>
      toRecord<SessionRecord>(await connection.call('HGET', names.of(tenantId).sessions, sessionId)),

    listSessions: async (tenantId, nowMs) => liveSessions(await all(tenantId), nowMs),

    touchSession: (tenantId, sessionId, nowMs) =>
      commits.write(tenantId, async (change) => {
        const { sessions } = change.names;
        const standing = toRecord<SessionRecord>(await change.read(sessions, sessionId));
        if (standing && standing.seenAtMs < nowMs)
          change.put(sessions, sessionId, JSON.stringify({ ...standing, seenAtMs: nowMs }));
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
