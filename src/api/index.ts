import type { Route } from './route.ts';
import { a2aScan } from './routes/a2a-scan.ts';
import {
  changeAgent,
  listAgents,
  reactivateAgent,
  resetTrust,
  showAgent,
  suspendAgent,
} from './routes/agents/agents.ts';
import { reactivateAgents, showSuspension, suspendAgents } from './routes/agents/agents-suspension.ts';
import { acceptTools, listMcpServers } from './routes/agents/mcp-servers.ts';
import {
  approvalStatus,
  awaitApproval,
  decideApproval,
  listApprovals,
  showApproval,
} from './routes/approvals.ts';
import { listAudit } from './routes/audit.ts';
import { showConfig } from './routes/config.ts';
import { listSessions, revokeSession, showOwnSession, signIn, signOut } from './routes/console/sessions.ts';
import { streamEvents } from './routes/events.ts';
import { listFeeds, refreshFeed } from './routes/feeds.ts';
import { health, ready } from './routes/health.ts';
import {
  createIncident,
  listIncidents,
  noteIncident,
  rateIncident,
  showIncident,
  transitionIncident,
} from './routes/incidents.ts';
import {
  listCredentials,
  putCredential,
  rekeyCredentials,
  revokeCredential,
} from './routes/keys/credentials.ts';
import { ephemeralKey } from './routes/keys/ephemeral-key.ts';
import {
  createInboundRoute,
  deleteInboundRoute,
  listInboundRoutes,
  replaceInboundRoute,
  showInboundRoute,
} from './routes/keys/inbound-routes.ts';
import { changeKey, keyAudit, listKeys, revokeKey, showKey } from './routes/keys/keys.ts';
import { mintKey } from './routes/keys/mint-key.ts';
import { metrics } from './routes/metrics.ts';
import {
  listChannels,
  listFailed,
  replayChannel,
  replayFailed,
  testChannel,
} from './routes/notifications.ts';
import { openApiRoute } from './routes/openapi.ts';
import { showException } from './routes/policies/exception.ts';
import { explain } from './routes/policies/explain.ts';
import { archivePolicy, listPolicies, policyByName, policyVersions } from './routes/policies/policies.ts';
import { applyPolicy, tryPolicy } from './routes/policies/policies-apply.ts';
import { simulatePolicies } from './routes/policies/policies-simulate.ts';
import { replayRisk } from './routes/policies/risk-replay.ts';
import { scan } from './routes/scan.ts';
import { scanResponse } from './routes/scan-response.ts';
import { slackInteractions } from './routes/slack-interactions.ts';
import { stats } from './routes/stats.ts';
import { listTenants } from './routes/tenants.ts';
import { listTools, showTool } from './routes/tools.ts';
import { listTracesRoute, showTrace } from './routes/traces/traces.ts';
import { exportTracesRoute } from './routes/traces/traces-export.ts';
import { streamTraces } from './routes/traces/traces-stream.ts';
import { usage } from './routes/usage.ts';

/** All endpoints of the control plane. */
export const apiRoutes: readonly Route[] = [
  health,
  ready,
  metrics,
  openApiRoute(() => apiRoutes),
  signIn,
  showOwnSession,
  signOut,
  listSessions,
  revokeSession,
  scan,
  explain,
  scanResponse,
  a2aScan,
  mintKey,
  ephemeralKey,
  listKeys,
  showKey,
  changeKey,
  keyAudit,
  revokeKey,
  listAgents,
  showAgent,
  changeAgent,
  suspendAgent,
  reactivateAgent,
  resetTrust,
  showSuspension,
  suspendAgents,
  reactivateAgents,
  putCredential,
  listCredentials,
  rekeyCredentials,
  revokeCredential,
  createInboundRoute,
  listInboundRoutes,
  showInboundRoute,
  replaceInboundRoute,
  deleteInboundRoute,
  usage,
  listTenants,
  listApprovals,
  showApproval,
  approvalStatus,
  awaitApproval,
  decideApproval,
  slackInteractions,
  applyPolicy,
  tryPolicy,
  listPolicies,
  policyByName,
  policyVersions,
  archivePolicy,
  simulatePolicies,
  listIncidents,
  showIncident,
  createIncident,
  transitionIncident,
  noteIncident,
  rateIncident,
  showConfig,
  listFeeds,
  refreshFeed,
  listTools,
  showTool,
  listMcpServers,
  acceptTools,
  listTracesRoute,
  exportTracesRoute,
  streamTraces,
  showTrace,
  showException,
  stats,
  replayRisk,
  listAudit,
  streamEvents,
  listChannels,
  listFailed,
  replayFailed,
  replayChannel,
  testChannel,
];
