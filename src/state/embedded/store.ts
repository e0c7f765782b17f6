import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Admission, AdmitRequest, Store } from '../store.ts';
import { createAgents } from './agents.ts';
import { createApprovals } from './approvals.ts';
import { createAudit } from './audit.ts';
import { createGroupCommit } from './group-commit.ts';
import { createKeys } from './keys.ts';
import { lockDirectory } from './lock.ts';
import { stateMigrations } from './migrations.ts';
import { createPolicies } from './policies.ts';
import { openDatabase, toStateError } from './sqlite.ts';
import { openTraces } from './traces.ts';

/*
 * The state of one process, in one directory: `state.db` for what is acknowledged (a commit is on the disk before the promise
 * resolves), `traces.db` for what is recorded in batches. Two files, because the second one is large, may lose its last batches
 * in a power cut, and must not make the first one wait. The hot path is answered from memory, on the same turn of the event
 * loop; memory follows the disk, and runs ahead of it only by destinations whose calls are in the journal already.
 */

type Closer = () => void | Promise<void>;

/**
 * Opens the store in `dir`, which is made (mode 0700) where it is missing. Rejects with STATE_UNAVAILABLE when another process
 * has the directory, when a database is newer than this code, or when it cannot be read.
 */
export async function openEmbeddedStore({ dir }: { dir: string }): Promise<Store> {
  const closers: Closer[] = [];
  const close = async () => {
    for (const step of closers.splice(0).reverse()) await step();
  };
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    closers.push(lockDirectory(dir));
    return assemble(dir, closers, close);
  } catch (error) {
    await close();
    throw toStateError(error);
  }
}

function assemble(dir: string, closers: Closer[], close: () => Promise<void>): Store {
  const state = openDatabase(join(dir, 'state.db'), { synchronous: 'FULL', migrations: stateMigrations });
  closers.push(state.close);
  const traces = openTraces(join(dir, 'traces.db'));
  closers.push(traces.close);
  const commits = createGroupCommit(state);
  closers.push(commits.close);

  const audit = createAudit(state);
  const agents = createAgents(state, commits);
  const keys = createKeys(state, commits, agents, audit);
  const policies = createPolicies(state, commits, audit);
  const approvals = createApprovals(state, commits);
  const { destinations } = traces;

  function admit({ keyHash, nowMs, agentId, destination }: AdmitRequest): Admission {
    const holder = keys.identify(keyHash, nowMs);
    if (!holder.ok) return holder;
    const { key } = holder;
    if (agentId === undefined || agentId === key.agentId) {
      const isNewDestination = !destinations.isKnown(key.agentId, destination);
      return { ok: true, key, identity: holder.identity, agentStatus: holder.agentStatus, isNewDestination };
    }
    const agent = agents.find(agentId);
    if (!agent) return unknownAgent;
    if (agent.tenantId !== key.tenantId) return otherTenant;
    if (agent.envName !== key.envName && !key.envNames.includes(agent.envName)) return otherEnvironment;
    const { envName, name: agentName } = agent;
    // A suspended agent does not become another one by naming it.
    const agentStatus = holder.agentStatus === 'suspended' ? 'suspended' : agent.status;
    const identity = { ...holder.identity, envName, agentId, agentName };
    return {
      ok: true,
      key,
      identity,
      agentStatus,
      isNewDestination: !destinations.isKnown(agentId, destination),
    };
  }

  return {
    addKey: keys.add,
    keyById: async (tenantId, keyId) => keys.byId(tenantId, keyId),
    revokeKey: keys.revoke,
    ensureAgent: agents.ensure,
    agentById: async (agentId) => agents.find(agentId),
    registerTenant: agents.registerTenant,
    registeredTenants: async () => agents.registeredTenants(),
    identify: keys.identify,
    admit,
    applyPolicy: policies.apply,
    policiesOf: policies.of,
    policyByName: async (tenantId, name, envName) => policies.byName(tenantId, name, envName),
    openApproval: approvals.open,
    approvalById: async (tenantId, approvalId, nowMs) => approvals.byId(tenantId, approvalId, nowMs),
    noteCall: destinations.note,
    recordCalls: traces.record,
    traceById: async (tenantId, traceId) => traces.byId(tenantId, traceId),
    verifyAudit: audit.verify,
    close,
  };
}

const unknownAgent = { ok: false, code: 'UNKNOWN_AGENT', detail: 'The agent is not known.' } as const;
const otherTenant = {
  ok: false,
  code: 'CROSS_TENANT',
  detail: 'The agent belongs to another tenant than the key.',
} as const;
const otherEnvironment = {
  ok: false,
  code: 'CROSS_ENVIRONMENT',
  detail: 'The agent belongs to an environment that the key may not name.',
} as const;
