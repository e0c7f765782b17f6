import { liveSessions, sessionsToEnd } from '../rules/sessions.ts';
import type { SessionRecord, SessionStore } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createRecordTable } from './record-table.ts';

export function createEmbeddedSessions(disk: Disk): SessionStore {
  const { db, commits, audit } = disk;
  const table = createRecordTable<SessionRecord>(db, 'sessions', ['tenant_id', 'session_id']);

  return {
    addSession: (session, event) =>
      commits.write(() => {
        const { tenantId } = session;
        for (const ended of sessionsToEnd(table.list(tenantId), session))
          table.remove(tenantId, ended.sessionId);
        table.put(session, tenantId, session.sessionId);
        audit.append(event);
      }),
    sessionById: table.find,
    listSessions: async (tenantId, nowMs) => liveSessions(table.list(tenantId), nowMs),
    touchSession: (tenantId, sessionId, nowMs) =>
      commits.write(() => {
        const touch = (it: SessionRecord) => (it.seenAtMs < nowMs ? { ...it, seenAtMs: nowMs } : undefined);
        table.alter(touch, tenantId, sessionId);
      }),
    endSession: (tenantId, sessionId, event) =>
      writeAudited(disk, event, () => table.remove(tenantId, sessionId)),
  };
}
