import type { Route } from './route.ts';
import * as a2aScan from './routes/a2a-scan.ts';
import * as agents from './routes/agents/agents.ts';
import * as agentsSuspension from './routes/agents/agents-suspension.ts';
import * as mcpServers from './routes/agents/mcp-servers.ts';
import * as approvals from './routes/approvals.ts';
import * as audit from './routes/audit.ts';
import * as config from './routes/config.ts';
import * as sessions from './routes/console/sessions.ts';
import * as events from './routes/events.ts';
import * as feeds from './routes/feeds.ts';
import * as health from './routes/health.ts';
import * as incidents from './routes/incidents.ts';
import * as credentials from './routes/keys/credentials.ts';
import * as ephemeralKey from './routes/keys/ephemeral-key.ts';
import * as inboundRoutes from './routes/keys/inbound-routes.ts';
import * as keys from './routes/keys/keys.ts';
import * as mintKey from './routes/keys/mint-key.ts';
import * as metrics from './routes/metrics.ts';
import * as notifications from './routes/notifications.ts';
import { openApiRoute } from './routes/openapi.ts';
import * as exception from './routes/policies/exception.ts';
import * as explain from './routes/policies/explain.ts';
import * as policies from './routes/policies/policies.ts';
import * as policiesApply from './routes/policies/policies-apply.ts';
import * as policiesSimulate from './routes/policies/policies-simulate.ts';
import * as riskReplay from './routes/policies/risk-replay.ts';
import * as scan from './routes/scan.ts';
import * as scanResponse from './routes/scan-response.ts';
import * as slackInteractions from './routes/slack-interactions.ts';
import * as stats from './routes/stats.ts';
import * as tenants from './routes/tenants.ts';
import * as tools from './routes/tools.ts';
import * as traces from './routes/traces/traces.ts';
import * as tracesExport from './routes/traces/traces-export.ts';
import * as tracesStream from './routes/traces/traces-stream.ts';
import * as usage from './routes/usage.ts';

const files = [
  a2aScan,
  agents,
  agentsSuspension,
  mcpServers,
  approvals,
  audit,
  config,
  sessions,
  events,
  feeds,
  health,
  incidents,
  credentials,
  ephemeralKey,
  inboundRoutes,
  keys,
  mintKey,
  metrics,
  notifications,
  exception,
  explain,
  policies,
  policiesApply,
  policiesSimulate,
  riskReplay,
  scan,
  scanResponse,
  slackInteractions,
  stats,
  tenants,
  tools,
  traces,
  tracesExport,
  tracesStream,
  usage,
] satisfies readonly Readonly<Record<string, Route>>[];

/** All endpoints of the control plane, in the order of their paths. Each export of these files is one. */
export const apiRoutes: readonly Route[] = [
  openApiRoute(() => apiRoutes),
  ...files.flatMap((it): Route[] => Object.values(it)),
].sort((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1));
