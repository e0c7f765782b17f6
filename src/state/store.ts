import type * as port from './port/index.ts';

export type * from './port/index.ts';

/**
 * The only port to the state. Operations carry the names of what the gateway does. Each is atomic, on one
 * node and on many. Time and ids are arguments. What is acknowledged (keys, agents, policies, approvals,
 * incidents, credentials, routes, audit entries) is durable before the promise resolves. It survives SIGKILL.
 * Traces are written later, in batches.
 *
 * An operation that cannot read or write fails with STATE_UNAVAILABLE, and nothing has changed.
 *
 * A method may return a value at once or a promise. The embedded driver answers `admit` from memory, so the
 * pipeline spends no turn of the event loop on it. Records of one tenant are never returned to another: with
 * the wrong tenant the answer is `undefined`.
 */
export interface Store
  extends port.KeyStore,
    port.AgentStore,
    port.SuspensionStore,
    port.AdmissionStore,
    port.HistoryStore,
    port.HomeStore,
    port.PolicyStore,
    port.ApprovalStore,
    port.IncidentStore,
    port.CredentialStore,
    port.RouteStore,
    port.SessionStore,
    port.McpToolStore,
    port.TraceStore,
    port.AuditStore,
    port.NoticeQueue,
    port.NoticeSources {
  /**
   * Returns a sentence that says what is wrong with the state; undefined where all is well. Never rejects.
   */
  trouble(): Promise<string | undefined>;
  close(): Promise<void>;
}
