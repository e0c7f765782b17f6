import type { AdmissionStore } from './port/admission.ts';
import type { AgentStore } from './port/agents.ts';
import type { ApprovalStore } from './port/approvals.ts';
import type { AuditStore } from './port/audit.ts';
import type { CredentialStore } from './port/credentials.ts';
import type { HistoryStore } from './port/history.ts';
import type { HomeStore } from './port/homes.ts';
import type { IncidentStore } from './port/incidents.ts';
import type { KeyStore } from './port/keys.ts';
import type { McpToolStore } from './port/mcp-tools.ts';
import type { NoticeQueue, NoticeSources } from './port/notifications.ts';
import type { PolicyStore } from './port/policies.ts';
import type { RouteStore } from './port/routes.ts';
import type { SessionStore } from './port/sessions.ts';
import type { SuspensionStore } from './port/suspensions.ts';
import type { TraceStore } from './port/traces.ts';

export type * from './port/admission.ts';
export type * from './port/agents.ts';
export type * from './port/approvals.ts';
export type * from './port/audit.ts';
export type * from './port/credentials.ts';
export type * from './port/history.ts';
export type * from './port/homes.ts';
export type * from './port/incidents.ts';
export type * from './port/keys.ts';
export type * from './port/mcp-tools.ts';
export type * from './port/notifications.ts';
export type * from './port/page.ts';
export type * from './port/policies.ts';
export type * from './port/routes.ts';
export type * from './port/sessions.ts';
export type * from './port/suspensions.ts';
export type * from './port/traces.ts';

/**
 * The one port to the state. Operations carry the names of what the gateway does; each is atomic, on one node and on many. Time and ids
 * are arguments. What is acknowledged (keys, agents, policies, approvals, incidents, credentials, routes, audit entries) is durable before the
 * promise resolves and survives SIGKILL; traces are written behind in batches.
 *
 * What cannot be read or written fails with STATE_UNAVAILABLE, and nothing has changed.
 *
 * A method may answer at once or with a promise: the embedded driver answers `admit` from memory, and the pipeline then spends no turn of
 * the event loop on it. Records of one tenant are never answered to another: whoever asks with the wrong tenant gets `undefined`.
 */
export interface Store
  extends KeyStore,
    AgentStore,
    SuspensionStore,
    AdmissionStore,
    HistoryStore,
    HomeStore,
    PolicyStore,
    ApprovalStore,
    IncidentStore,
    CredentialStore,
    RouteStore,
    SessionStore,
    McpToolStore,
    TraceStore,
    AuditStore,
    NoticeQueue,
    NoticeSources {
  /** A sentence that says what is wrong; undefined where all is well. Never rejects. */
  trouble(): Promise<string | undefined>;
  close(): Promise<void>;
}
