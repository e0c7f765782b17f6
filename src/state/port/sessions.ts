import type { AuditEvent } from './audit.ts';
import type { MaybePromise } from './page.ts';

/**
 * Keeps the sessions of the console: who signed in with which secret. They are bounded: see
 * `rules/sessions.ts`.
 */
export interface SessionStore {
  /**
   * Adds a session with its audit entry. It removes ended sessions and, beyond the bound, those unused for
   * longest.
   */
  addSession(session: SessionRecord, audit: AuditEvent): Promise<void>;
  /** Returns the stored session, wherever it was changed last; `hasSessionEnded` tells whether it ended. */
  sessionById(tenantId: string, sessionId: string): MaybePromise<SessionRecord | undefined>;
  /** Returns the sessions that have not ended, the last opened first. */
  listSessions(tenantId: string, nowMs: number): Promise<readonly SessionRecord[]>;
  /** Notes the use of a session. A session that is gone stays gone. */
  touchSession(tenantId: string, sessionId: string, nowMs: number): Promise<void>;
  /**
   * Removes a session with its audit entry, for the next look-up on every node. Returns false if there is
   * none.
   */
  endSession(tenantId: string, sessionId: string, audit: AuditEvent): Promise<boolean>;
}

export interface SessionRecord {
  readonly sessionId: string;
  readonly tenantId: string;
  /** The SHA-256 of the token in the cookie, in hex. The token itself is kept nowhere. */
  readonly tokenHash: string;
  readonly holder: 'key' | 'admin';
  /** The stored hash of the key that opened it. For the admin secret a hash is made in the same way. */
  readonly secretHash: string;
  /** Who signed in: the prefix of the key, or `admin`. */
  readonly subject: string;
  readonly clientAddress: string;
  readonly createdAtMs: number;
  readonly seenAtMs: number;
}
