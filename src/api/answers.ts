import type { AnswerOf } from './route.ts';
import type { listAgents } from './routes/agents/agents.ts';
import type { showSuspension } from './routes/agents/agents-suspension.ts';
import type { listMcpServers } from './routes/agents/mcp-servers.ts';
import type { listApprovals } from './routes/approvals.ts';
import type { listAudit } from './routes/audit.ts';
import type { showConfig } from './routes/config.ts';
import type { listSessions, signIn } from './routes/console/sessions.ts';
import type { listFeeds } from './routes/feeds.ts';
import type { ready } from './routes/health.ts';
import type { listIncidents, showIncident } from './routes/incidents.ts';
import type { listCredentials, rekeyCredentials } from './routes/keys/credentials.ts';
import type { ephemeralKey } from './routes/keys/ephemeral-key.ts';
import type { listInboundRoutes } from './routes/keys/inbound-routes.ts';
import type { listKeys } from './routes/keys/keys.ts';
import type { mintKey } from './routes/keys/mint-key.ts';
import type { listChannels, listFailed, replayChannel, testChannel } from './routes/notifications.ts';
import type { showException } from './routes/policies/exception.ts';
import type { listPolicies } from './routes/policies/policies.ts';
import type { tryPolicy } from './routes/policies/policies-apply.ts';
import type { simulatePolicies } from './routes/policies/policies-simulate.ts';
import type { replayRisk } from './routes/policies/risk-replay.ts';
import type { stats } from './routes/stats.ts';
import type { listTenants } from './routes/tenants.ts';
import type { listTools, showTool } from './routes/tools.ts';
import type { listTracesRoute, showTrace } from './routes/traces/traces.ts';
import type { usage } from './routes/usage.ts';

/* Types of what the API answers, for its callers: the page and the command line. */

export interface Listing<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** An item of a list that a route answers. */
type ItemOf<Answer extends { readonly items: readonly unknown[] }> = Answer['items'][number];

export type Agent = ItemOf<AnswerOf<typeof listAgents>>;
export type Approval = ItemOf<AnswerOf<typeof listApprovals>>;
export type ShownAuditEntry = ItemOf<AnswerOf<typeof listAudit>>;
export type ShownChannel = ItemOf<AnswerOf<typeof listChannels>>;
export type Credential = ItemOf<AnswerOf<typeof listCredentials>>;
export type ShownEphemeralKey = AnswerOf<typeof ephemeralKey>;
export type ShownException = AnswerOf<typeof showException>;
export type FailedMessage = ItemOf<AnswerOf<typeof listFailed>>;
export type ShownFeed = ItemOf<AnswerOf<typeof listFeeds>>;
export type ShownRoute = ItemOf<AnswerOf<typeof listInboundRoutes>>;
export type Incident = ItemOf<AnswerOf<typeof listIncidents>>;
export type FullIncident = AnswerOf<typeof showIncident>;
export type Key = ItemOf<AnswerOf<typeof listKeys>>;
export type ListedPolicy = ItemOf<AnswerOf<typeof listPolicies>>;
export type ListedTool = ItemOf<AnswerOf<typeof listTools>>;
export type ShownMcpServer = ItemOf<AnswerOf<typeof listMcpServers>>;
export type MintedKey = AnswerOf<typeof mintKey>;
export type OpenSession = ItemOf<AnswerOf<typeof listSessions>>;
export type Readiness = AnswerOf<typeof ready>;
export type Rekeyed = AnswerOf<typeof rekeyCredentials>;
export type Replayed = AnswerOf<typeof replayChannel>;
export type RiskReplay = AnswerOf<typeof replayRisk>;
export type ShownSession = AnswerOf<typeof signIn>;
export type ShownConfig = AnswerOf<typeof showConfig>;
export type Simulation = AnswerOf<typeof simulatePolicies>;
export type Stats = AnswerOf<typeof stats>;
export type Suspension = AnswerOf<typeof showSuspension>;
export type Tenant = ItemOf<AnswerOf<typeof listTenants>>;
export type TestedChannel = AnswerOf<typeof testChannel>;
export type TimelineEntry = FullIncident['timeline'][number];
export type ShownTool = AnswerOf<typeof showTool>;
export type ShownTrace = AnswerOf<typeof showTrace>;
export type TraceRow = ItemOf<AnswerOf<typeof listTracesRoute>>;
export type TriedPolicy = AnswerOf<typeof tryPolicy>;
export type Usage = AnswerOf<typeof usage>;

export type CountedNames = Stats['tools'];
export type AnswerScan = NonNullable<ShownTrace['response_scans']>[number];
export type ShownFinding = Approval['findings'][number];
