import type { AnswerOf } from '../../../api/route.ts';
import type { listAgents } from '../../../api/routes/agents/agents.ts';
import type { showSuspension } from '../../../api/routes/agents/agents-suspension.ts';
import type { listMcpServers } from '../../../api/routes/agents/mcp-servers.ts';
import type { listApprovals } from '../../../api/routes/approvals.ts';
import type { listAudit } from '../../../api/routes/audit.ts';
import type { showConfig } from '../../../api/routes/config.ts';
import type { listSessions, signIn } from '../../../api/routes/console/sessions.ts';
import type { listFeeds } from '../../../api/routes/feeds.ts';
import type { ready } from '../../../api/routes/health.ts';
import type { listIncidents, showIncident } from '../../../api/routes/incidents.ts';
import type { listCredentials } from '../../../api/routes/keys/credentials.ts';
import type { listInboundRoutes } from '../../../api/routes/keys/inbound-routes.ts';
import type { listKeys } from '../../../api/routes/keys/keys.ts';
import type { mintKey } from '../../../api/routes/keys/mint-key.ts';
import type { listChannels, listFailed } from '../../../api/routes/notifications.ts';
import type { showException } from '../../../api/routes/policies/exception.ts';
import type { listPolicies } from '../../../api/routes/policies/policies.ts';
import type { simulatePolicies } from '../../../api/routes/policies/policies-simulate.ts';
import type { stats } from '../../../api/routes/stats.ts';
import type { listTenants } from '../../../api/routes/tenants.ts';
import type { listTools, showTool } from '../../../api/routes/tools.ts';
import type { listTracesRoute, showTrace } from '../../../api/routes/traces/traces.ts';
import type { usage } from '../../../api/routes/usage.ts';
import { type Band, bands, type Decision, decisions } from '../../../core/verdict.ts';

/* Types of what the API answers. They are those of its routes, of which nothing else comes into the page. */

export type { Band, Decision };
export { bands, decisions };

export interface Listing<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** An item of a list that a route answers. */
type ItemOf<Answer extends { readonly items: readonly unknown[] }> = Answer['items'][number];

export type Agent = ItemOf<AnswerOf<typeof listAgents>>;
export type Approval = ItemOf<AnswerOf<typeof listApprovals>>;
export type AuditEntry = ItemOf<AnswerOf<typeof listAudit>>;
export type Channel = ItemOf<AnswerOf<typeof listChannels>>;
export type Credential = ItemOf<AnswerOf<typeof listCredentials>>;
export type Exception = AnswerOf<typeof showException>;
export type FailedMessage = ItemOf<AnswerOf<typeof listFailed>>;
export type Feed = ItemOf<AnswerOf<typeof listFeeds>>;
export type InboundRoute = ItemOf<AnswerOf<typeof listInboundRoutes>>;
export type Incident = ItemOf<AnswerOf<typeof listIncidents>>;
export type Key = ItemOf<AnswerOf<typeof listKeys>>;
export type ListedPolicy = ItemOf<AnswerOf<typeof listPolicies>>;
export type ListedTool = ItemOf<AnswerOf<typeof listTools>>;
export type McpServer = ItemOf<AnswerOf<typeof listMcpServers>>;
export type MintedKey = AnswerOf<typeof mintKey>;
export type OpenSession = ItemOf<AnswerOf<typeof listSessions>>;
export type Readiness = AnswerOf<typeof ready>;
export type Session = AnswerOf<typeof signIn>;
export type ShownConfig = AnswerOf<typeof showConfig>;
export type Simulation = AnswerOf<typeof simulatePolicies>;
export type Stats = AnswerOf<typeof stats>;
export type Suspension = AnswerOf<typeof showSuspension>;
export type Tenant = ItemOf<AnswerOf<typeof listTenants>>;
export type TimelineEntry = AnswerOf<typeof showIncident>['timeline'][number];
export type Tool = AnswerOf<typeof showTool>;
export type Trace = AnswerOf<typeof showTrace>;
export type TraceRow = ItemOf<AnswerOf<typeof listTracesRoute>>;
export type Usage = AnswerOf<typeof usage>;

export type CountedNames = Stats['tools'];
export type AnswerScan = NonNullable<Trace['response_scans']>[number];
export type ShownFinding = Approval['findings'][number];
