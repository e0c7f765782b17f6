import { liveSessions, sessionsToEnd } from '../rules/sessions.ts';
import type { SessionRecord, SessionStore } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { recordOf, rowToRecord } from './sqlite.ts';

export function createEmbeddedSessions(disk: Disk): SessionStore {
  const { db, commits, audit } = disk;
  const ofTenant = db.prepare('SELECT record FROM sessions WHERE tenant_id = ?');
  const byId = db.prepare('SELECT record FROM sessions WHERE tenant_id = ? AND session_id = ?');
  const put = db.prepare('INSERT OR REPLACE INTO sessions (tenant_id, session_id, record) VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM sessions WHERE tenant_id = ? AND session_id = ?');
  const all = (tenantId: string) => ofTenant.all(tenantId).map(recordOf<SessionRecord>);
  const find = (tenantId: string, sessionId: string) =>
    rowToRecord<SessionRecord>(byId.get(tenantId, sessionId));
  const save = (session: SessionRecord): void =>
    void put.run(session.tenantId, session.sessionId, JSON.stringify(session));

  return {
    addSession: (session, event) =>
      commits.write(() => {
        const { tenantId } = session;
        for (const { sessionId } of sessionsToEnd(all(tenantId), session)) remove.run(tenantId, sessionId);
        save(session);
        audit.append(event);
      }),
    sessionById: find,
    listSessions: async (tenantId, nowMs) => liveSessions(all(tenantId), nowMs),
    touchSession: (tenantId, sessionId, nowMs) =>
      commits.write(() => {
        const standing = find(tenantId, sessionId);
        if (standing && standing.seenAtMs < nowMs) save({ ...standing, seenAtMs: nowMs });
      }),
    endSession: (tenantId, sessionId, event) =>
      writeAudited(disk, event, () => remove.run(tenantId, sessionId) > 0),
  };
}
