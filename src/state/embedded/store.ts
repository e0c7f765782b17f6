import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../util/make-folder.ts';
import { wholeTrust } from '../rules/trust.ts';
import type {
  AdmissionStore,
  AgentStore,
  ApprovalStore,
  AuditStore,
  CredentialStore,
  HistoryStore,
  HomeStore,
  IncidentStore,
  KeyStore,
  McpToolStore,
  NoticeQueue,
  NoticeSources,
  PolicyStore,
  RouteStore,
  SessionStore,
  Store,
  SuspensionStore,
  TraceStore,
} from '../store.ts';
import { createAdmit } from './admit.ts';
import { createEmbeddedAgents } from './agents.ts';
import { Approvals } from './approvals.ts';
import { createEmbeddedAudit } from './audit.ts';
import { createEmbeddedBudgets } from './counts/budgets.ts';
import { createEmbeddedHistory } from './counts/history.ts';
import { Nonces } from './counts/nonces.ts';
import { Numbers } from './counts/numbers.ts';
import { createEmbeddedCredentials } from './credentials.ts';
import { lockDirectory } from './file/lock.ts';
import { migrationsOf, stateMigrations } from './file/migrations.ts';
import { GroupCommit } from './group-commit.ts';
import { createEmbeddedHomes } from './homes.ts';
import { createEmbeddedIncidents } from './incidents.ts';
import { createEmbeddedKeys } from './keys.ts';
import { KnownKeys } from './known-keys.ts';
import { createEmbeddedMcpTools } from './mcp-tools.ts';
import { createEmbeddedNotices } from './notices/notices.ts';
import { Policies } from './policies.ts';
import { createResponseScans } from './response-scans.ts';
import { Retention } from './retention.ts';
import { createEmbeddedRoutes } from './routes.ts';
import { createEmbeddedSessions } from './sessions.ts';
import { openDatabase, refuseNewer, schemaVersion, toStateError } from './sqlite.ts';
import { createEmbeddedSuspensions } from './suspensions.ts';
import { createEmbeddedTold } from './told.ts';
import { Traces } from './traces/traces.ts';

/*
 * The state of one process, in one directory. `state.db` holds what is acknowledged: a commit is on the disk before
 * the promise resolves. `traces.db` holds what is recorded in batches. It is a second file, because it is large and
 * may lose its last batches in a power cut. It must not make the first one wait. The hot path is answered from
 * memory, on the same turn of the event loop. Memory follows the disk. Only two kinds of facts that come of calls run
 * ahead of it. They are numbers (`numbers.ts`), and destinations whose calls are in the journal already.
 */

type Closer = () => void | Promise<void>;

/**
 * Opens the store in `dir`, which is made (mode 0700) where it is missing. Rejects with STATE_UNAVAILABLE when
 * another process has it, when a database is newer than this code, or cannot be read. Lines that an earlier process
 * left in the journal are shipped by whoever opens it (`Journal`).
 */
export async function openEmbeddedStore({ dir }: { dir: string }): Promise<Store> {
  const closers: Closer[] = [];
  const close = async () => {
    for (const step of closers.splice(0).reverse()) await step();
  };
  try {
    makeFolder(dir, 0o700);
    closers.push(lockDirectory(dir));
    refuseNewerState(dir);
    return assemble(dir, closers, close);
  } catch (error) {
    await close();
    throw toStateError(error);
  }
}

/** Looks at both databases before either is brought up to date. */
function refuseNewerState(dir: string): void {
  for (const [name, migrations] of Object.entries(migrationsOf)) {
    const file = join(dir, name);
    if (existsSync(file)) refuseNewer(file, schemaVersion(file), migrations);
  }
}

function assemble(dir: string, closers: Closer[], close: () => Promise<void>): Store {
  const parts = openParts(dir, closers);
  return {
    ...callers(parts),
    ...admission(parts),
    ...settings(parts),
    ...cases(parts),
    ...histories(parts),
    ...recordedCalls(parts),
    ...audits(parts),
    trouble: () => troubleOf(parts),
    close,
  };
}

/** The parts of the store, of which each has its tables and the memory that follows them. */
function openParts(dir: string, closers: Closer[]) {
  const state = openDatabase(join(dir, 'state.db'), { synchronous: 'FULL', migrations: stateMigrations });
  closers.push(state.close);
  const traces = new Traces(join(dir, 'traces.db'));
  closers.push(() => traces.close());
  const commits = new GroupCommit(state);
  closers.push(() => commits.close());
  const probe = state.prepare('UPDATE probe SET written = written + 1');
  const audit = createEmbeddedAudit(state);
  const agents = createEmbeddedAgents(state, commits, audit);
  const suspensions = createEmbeddedSuspensions(state, commits, audit);
  const known = new KnownKeys(state, agents, suspensions);
  const onGone = (keyIds: readonly string[]) => traces.forgetKeys(keyIds);
  const keys = createEmbeddedKeys(state, commits, { agents, audit, known, onGone });
  const policies = new Policies(state, commits, audit);
  const approvals = new Approvals(state, commits, audit);
  const incidents = createEmbeddedIncidents(state, commits, audit);
  const credentials = createEmbeddedCredentials(state, commits, audit);
  const routes = createEmbeddedRoutes(state, commits, audit);
  const responseScans = createResponseScans(state, commits);
  const mcpTools = createEmbeddedMcpTools(state, commits, audit);
  const nonces = new Nonces();
  const retention = new Retention(traces, responseScans);
  closers.push(() => retention.close());
  const { destinations, counters } = traces;
  const traceById = (tenantId: string, traceId: string): string | undefined =>
    retention.isOld(tenantId, traceId) ? undefined : traces.byId(tenantId, traceId);
  const budgets = createEmbeddedBudgets(traces.budgets);
  const history = createEmbeddedHistory(traces.history);
  const isOwn = (tenantId: string, agentId: string): boolean =>
    agents.among(tenantId, [agentId]).has(agentId);
  const numbers = new Numbers(counters, { isDiskBehind: () => traces.isFailing() });
  return {
    state,
    commits,
    audit,
    agents,
    suspensions,
    known,
    keys,
    policies,
    approvals,
    incidents,
    credentials,
    routes,
    responseScans,
    mcpTools,
    nonces,
    retention,
    traces,
    destinations,
    counters,
    budgets,
    history,
    numbers,
    traceById,
    isOwn,
    probe,
  };
}

type Parts = ReturnType<typeof openParts>;

/** Keys, the agents that call with them, and what suspends all of a tenant. */
const callers = (on: Parts): KeyStore & AgentStore & SuspensionStore => ({
  addKey: on.keys.add,
  keyById: async (tenantId, keyId) => on.keys.byId(tenantId, keyId),
  listKeys: async (tenantId, page) => on.keys.list(tenantId, page),
  updateKey: on.keys.update,
  revokeKey: on.keys.revoke,
  keyUsage: async (tenantId, keyIds, nowMs) =>
    on.numbers.keyUsage(ownOf(keyIds, on.keys.among(tenantId, keyIds)), nowMs),

  ensureAgent: on.agents.ensure,
  agentById: async (agentId) => on.agents.find(agentId),
  listAgents: async (tenantId, page) => on.agents.list(tenantId, page),
  updateAgent: on.agents.update,
  agentUsage: async (tenantId, agentIds, nowMs) =>
    on.counters.ofAgents(ownOf(agentIds, on.agents.among(tenantId, agentIds)), nowMs),
  registerTenant: on.agents.registerTenant,
  registeredTenants: async () => on.agents.registeredTenants(),

  suspendTenant: on.suspensions.suspend,
  reactivateTenant: on.suspensions.reactivate,
  suspensionOf: async (tenantId) => on.suspensions.find(tenantId),
});

/** The questions that calls ask before they are judged. */
const admission = (on: Parts): AdmissionStore & HomeStore => ({
  identify: (keyHash, nowMs) => on.known.identify(keyHash, nowMs),
  admit: createAdmit({ ...on, keys: on.known }),
  standingOf: async ({ tenantId, agentId, destination, charges }) => ({
    isNewDestination: !(on.isOwn(tenantId, agentId) && on.destinations.isKnown(agentId, destination)),
    exceededBudgets: on.budgets.peek(tenantId, charges),
  }),
  recall: (keyHash, nowMs, withinMs) => on.known.recall(keyHash, nowMs, withinMs),
  claimNonce: (tenantId, keyId, nonce, nowMs, endsAtMs) =>
    on.nonces.claim(tenantId, keyId, nonce, nowMs, endsAtMs),
  ...createEmbeddedHomes(on.state, on.commits),
  usageOf: async (tenantId, nowMs) => on.numbers.tenantUsage(tenantId, nowMs),
});

/** The settings of administrators, and the tools that servers list. */
const settings = (on: Parts): PolicyStore & CredentialStore & RouteStore & SessionStore & McpToolStore => ({
  applyPolicy: (apply, event) => on.policies.apply(apply, event),
  policiesOf: (tenantId) => on.policies.of(tenantId),
  policyByName: async (tenantId, name, envName) => on.policies.byName(tenantId, name, envName),
  policyVersions: async (tenantId, name, envName, page) =>
    on.policies.versions(tenantId, name, envName, page),
  archivePolicy: (archive, event) => on.policies.archive(archive, event),

  putCredential: on.credentials.put,
  credentialOf: on.credentials.find,
  listCredentials: async (tenantId) => on.credentials.list(tenantId),
  resealCredential: on.credentials.reseal,
  credentialUses: async (tenantId) => on.counters.ofCredentials(tenantId),
  removeCredential: on.credentials.remove,

  ...on.routes,
  ...createEmbeddedSessions(on.state, on.commits, on.audit),

  rememberTools: on.mcpTools.remember,
  listMcpServers: async (tenantId, page) => on.mcpTools.list(tenantId, page),
  acceptTools: on.mcpTools.accept,
});

/** Held calls and incidents, which people decide about. */
const cases = (on: Parts): ApprovalStore & IncidentStore => ({
  holdCall: (approval, auditOf) => on.approvals.hold(approval, auditOf),
  decideApproval: (tenantId, approvalId, made, event) =>
    on.approvals.decide(tenantId, approvalId, made, event),
  approvalById: async (tenantId, approvalId, nowMs) => on.approvals.byId(tenantId, approvalId, nowMs),
  listApprovals: async (tenantId, filter, nowMs, page) => on.approvals.list(tenantId, filter, nowMs, page),
  expireApprovals: (nowMs) => on.approvals.expire(nowMs),

  openIncident: on.incidents.open,
  incidentById: async (tenantId, incidentId) => on.incidents.byId(tenantId, incidentId),
  listIncidents: async (tenantId, filter, page) => on.incidents.list(tenantId, filter, page),
  changeIncident: on.incidents.change,
});

/** The past of agents, as calls are judged by it. */
const histories = (on: Parts): HistoryStore => ({
  noteSighting: on.history.noteSighting,
  trustOf: async (tenantId, agentIds) =>
    agentIds.map((it) => (on.isOwn(tenantId, it) ? on.history.trustOf(it) : wholeTrust)),
  async markTrust(tenantId, agentId, mark) {
    if (!on.isOwn(tenantId, agentId)) return;
    on.history.mark(agentId, mark);
    await on.traces.markTrust(agentId, mark);
  },
  async resetTrust(tenantId, agentId, event) {
    if (!on.isOwn(tenantId, agentId)) return;
    await on.commits.write(() => on.audit.append(event));
    on.history.mark(agentId, null);
    await on.traces.markTrust(agentId, null);
  },
  restoreTrust(terms) {
    on.history.restoreTrust(terms);
    on.traces.restoreTrust(terms);
  },
});

/** Traces, their counts, and the scans of answers that belong to them. */
const recordedCalls = (on: Parts): TraceStore => ({
  noteCall(call) {
    on.destinations.note(call);
    on.budgets.note(call);
    on.history.note(call);
  },
  recordCalls: (batch) => on.traces.record(batch),
  traceById: async (tenantId, traceId) => on.traceById(tenantId, traceId),
  listTraces: (tenantId, filter, page) =>
    on.traces.list(tenantId, on.retention.keptOf(tenantId, filter), page),
  exportTraces: (tenantId, filter) => on.traces.export(tenantId, on.retention.keptOf(tenantId, filter)),
  tracesSince: async (tenantId, position) => on.traces.since(tenantId, position),
  callStats: async (tenantId, interval, fromMs, beforeMs, only) =>
    only
      ? on.traces.stats.readDecisions(tenantId, interval, fromMs, beforeMs)
      : on.traces.stats.read(tenantId, interval, fromMs, beforeMs),
  async addResponseScan(tenantId, traceId, scan) {
    if (on.traceById(tenantId, traceId) === undefined) return false;
    await on.responseScans.add(tenantId, traceId, scan);
    return true;
  },
  responseScansOf: async (tenantId, traceId) =>
    on.retention.isOld(tenantId, traceId) ? [] : on.responseScans.of(tenantId, traceId),
  keepTraces: (keptMsOf) => on.retention.keep(keptMsOf),
});

/** The audit log, and what is told of it. */
const audits = (on: Parts): AuditStore & NoticeQueue & NoticeSources => ({
  appendAudit: (event) => on.commits.write(() => on.audit.append(event)),
  listAudit: async (tenantId, filter, page) => on.audit.list(tenantId, filter, page),
  exportAudit: on.audit.export,
  verifyAudit: on.audit.verify,

  ...createEmbeddedNotices(on.state, on.commits),
  ...createEmbeddedTold(on.state, on.commits, on.audit),
});

async function troubleOf(on: Parts): Promise<string | undefined> {
  if (on.traces.isFailing())
    return 'Calls cannot be stored: traces.db takes no batch. They wait in the journal.';
  if (on.retention.isFailing()) return 'Old traces cannot be removed.';
  // No write may come for a long time, so this finds out whether the disk is well again.
  if (on.commits.isFailing()) await on.commits.write(() => on.probe.run()).catch(() => undefined);
  return on.commits.isFailing() ? 'Changes cannot be stored: state.db takes no transaction.' : undefined;
}

/** Nothing has this id, and has used anything. */
const nobody = '';

const ownOf = (ids: readonly string[], own: ReadonlySet<string>): readonly string[] =>
  ids.map((id) => (own.has(id) ? id : nobody));
