import type { Command } from 'commander';
import { addAgent } from './agent.ts';
import { addApproval } from './approval.ts';
import { addAudit } from './audit.ts';
import { addCa } from './ca.ts';
import { addConfig } from './config.ts';
import { addCredential } from './credential.ts';
import { addDetect } from './detect.ts';
import { addEnv } from './env.ts';
import { addExplain } from './explain.ts';
import { addIncident } from './incident.ts';
import { addInit } from './init.ts';
import { addKey } from './key.ts';
import { addNotify } from './notify.ts';
import { addPolicy } from './policy.ts';
import { addRisk } from './risk.ts';
import { addRun } from './run.ts';
import { addServe } from './serve.ts';
import { addTrace } from './trace.ts';
import { addUsage } from './usage.ts';

/**
 * Every command adds itself to the program; the order is that of the help. What only one of them needs of the daemon is imported when it
 * runs: the others start in a fraction of the time.
 */
export const commands: readonly ((program: Command) => void)[] = [
  addInit,
  addServe,
  addRun,
  addEnv,
  addConfig,
  addCa,
  addKey,
  addAgent,
  addCredential,
  addPolicy,
  addApproval,
  addIncident,
  addNotify,
  addTrace,
  addRisk,
  addAudit,
  addUsage,
  addExplain,
  addDetect,
];
