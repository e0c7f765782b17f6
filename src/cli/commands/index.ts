import type { Command } from 'commander';
import { addAgent } from './agent.ts';
import { addApproval } from './approval.ts';
import { addAudit } from './audit.ts';
import { addCredential } from './credential.ts';
import { addBackup } from './daemon/backup.ts';
import { addCa } from './daemon/ca.ts';
import { addCompletion, addMan } from './daemon/completion.ts';
import { addConfig } from './daemon/config.ts';
import { addDoctor } from './daemon/doctor.ts';
import { addEnv } from './daemon/env.ts';
import { addInit } from './daemon/init.ts';
import { addLogs } from './daemon/logs.ts';
import { addReload } from './daemon/reload.ts';
import { addRun } from './daemon/run.ts';
import { addServe } from './daemon/serve.ts';
import { addStatus } from './daemon/status.ts';
import { addUpgrade } from './daemon/upgrade.ts';
import { addFeed } from './feed.ts';
import { addInboundRoute } from './inbound-route.ts';
import { addIncident } from './incident.ts';
import { addKey } from './key.ts';
import { addMcpServer } from './mcp-server.ts';
import { addNotify } from './notify.ts';
import { addDetect } from './policy/detect.ts';
import { addExplain } from './policy/explain.ts';
import { addPolicy } from './policy/policy.ts';
import { addRisk } from './risk.ts';
import { addStats } from './stats.ts';
import { addTenant } from './tenant.ts';
import { addTool } from './tool.ts';
import { addTrace } from './trace.ts';
import { addUsage } from './usage.ts';

/**
 * All commands, in the order of the help; each adds itself to the program. What only one of them needs of the
 * daemon is imported when it runs, so that the others start in a fraction of the time.
 */
export const commands: readonly ((program: Command) => void)[] = [
  addInit,
  addServe,
  addRun,
  addEnv,
  addStatus,
  addDoctor,
  addReload,
  addLogs,
  addConfig,
  addCa,
  addBackup,
  addUpgrade,
  addTenant,
  addKey,
  addAgent,
  addCredential,
  addPolicy,
  addApproval,
  addIncident,
  addNotify,
  addFeed,
  addTool,
  addMcpServer,
  addInboundRoute,
  addTrace,
  addRisk,
  addAudit,
  addUsage,
  addStats,
  addExplain,
  addDetect,
  addCompletion,
  addMan,
];
