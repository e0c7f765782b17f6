import type * as port from './port/index.ts';

export type * from './port/index.ts';

/**
 * The one port to the state. Operations carry the names of what the gateway does; each is atomic, on one node
 * and on many. Time and ids are arguments. What is acknowledged (keys, agents, policies, approvals,
 * incidents, credentials, routes, audit entries) is durable before the promise resolves and survives SIGKILL.
 * Traces are written behind in batches.
 *
 * What cannot be read or written fails with STATE_UNAVAILABLE, and nothing has changed.
 *
 * A method may answer at once or with a promise. The embedded driver answers `admit` from memory, so the
 * pipeline spends no turn of the event loop on it. Records of one tenant are never answered to another:
 * whoever asks with the wrong tenant gets `undefined`.
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
  /** A sentence that says what is wrong; undefined where all is well. Never rejects. */
  trouble(): Promise<string | undefined>;
  close(): Promise<void>;
}
