import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../util/files/make-folder.ts';
import { wholeTrust } from '../rules/trust.ts';
import type { HistoryStore, Store, TraceStore } from '../store.ts';
import { createAdmit } from './admit.ts';
import { createEmbeddedAgents } from './agents.ts';
import { createEmbeddedApprovals } from './approvals.ts';
import { createEmbeddedAudit } from './audit.ts';
import { createEmbeddedBudgets } from './counts/budgets.ts';
import { createEmbeddedHistory } from './counts/history.ts';
import { Nonces } from './counts/nonces.ts';
import { Numbers } from './counts/numbers.ts';
import { createEmbeddedCredentials } from './credentials.ts';
import type { Disk } from './disk.ts';
import { lockDirectory } from './file/lock.ts';
import { migrationsOf, stateMigrations } from './file/migrations.ts';
import { GroupCommit } from './group-commit.ts';
import { createEmbeddedHomes } from './homes.ts';
import { createEmbeddedIncidents } from './incidents.ts';
import { createEmbeddedKeys } from './keys.ts';
import { KnownKeys } from './known-keys.ts';
import { createEmbeddedMcpTools } from './mcp-tools.ts';
import { createEmbeddedNotices } from './notices/notices.ts';
import { createEmbeddedTold } from './notices/told.ts';
import { createEmbeddedPolicies } from './policies.ts';
import { createResponseScans } from './response-scans.ts';
import { Retention } from './retention.ts';
import { createEmbeddedRoutes } from './routes.ts';
import { createEmbeddedSessions } from './sessions.ts';
import { openDatabase, refuseNewer, type Statement, schemaVersion, toStateError } from './sqlite.ts';
import { createEmbeddedSuspensions } from './suspensions.ts';
import { Traces } from './traces/traces.ts';

/*
 * Keeps the state of one process, in one directory. `state.db` holds what is acknowledged: a commit is on the
 * disk before the promise resolves. `traces.db` holds what is recorded in batches. It is a file of its own,
 * because it is large and may lose its last batches in a power cut. It must not make the other one wait. The
 * hot path is answered from memory, on the same turn of the event loop. Memory follows the disk. Only two
 * kinds of facts, both from calls, run ahead of it: numbers (`numbers.ts`), and destinations whose calls are
 * in the journal already.
 */

type Closer = () => void | Promise<void>;

/**
 * Opens the store in `dir`, which is made (mode 0700) where it is missing. Rejects with STATE_UNAVAILABLE
 * when another process has it. It also rejects when a database is newer than this code, or cannot be read.
 * Lines that an earlier process left in the journal are shipped by whoever opens it (`Journal`).
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

/**
 * Throws STATE_UNAVAILABLE where a database is newer than this code. It looks at both before either is
 * brought up to date.
 */
function refuseNewerState(dir: string): void {
  for (const [name, migrations] of Object.entries(migrationsOf)) {
    const file = join(dir, name);
    if (existsSync(file)) refuseNewer(file, schemaVersion(file), migrations);
  }
}

/** Opens the parts of the store. Each has its tables, and memory that follows them. */
function openParts(dir: string, closers: Closer[]) {
  const db = openDatabase(join(dir, 'state.db'), { synchronous: 'FULL', migrations: stateMigrations });
  closers.push(db.close);
  const traces = new Traces(join(dir, 'traces.db'), (...asked) => responseScans.answered(...asked));
  closers.push(() => traces.close());
  const commits = new GroupCommit(db);
  closers.push(() => commits.close());
  const audit = createEmbeddedAudit(db);
  const disk: Disk = { db, commits, audit };
  const agents = createEmbeddedAgents(disk);
  const suspensions = createEmbeddedSuspensions(disk);
  const known = new KnownKeys(db, agents, suspensions);
  const onGone = (keyIds: readonly string[]) => traces.forgetKeys(keyIds);
  const keys = createEmbeddedKeys(disk, { agents, known, onGone });
  const responseScans = createResponseScans(disk);
  const retention = new Retention(traces, responseScans);
  closers.push(() => retention.close());
  const mcpTools = createEmbeddedMcpTools(disk);
  const { destinations, counters } = traces;
  const budgets = createEmbeddedBudgets(traces.budgets);
  const history = createEmbeddedHistory(traces.history);
  const numbers = new Numbers(counters, { isDiskBehind: () => traces.isFailing() });
  const admit = createAdmit({ keys: known, agents, numbers, destinations, budgets, history, mcpTools });
  return {
    ...{ disk, audit, agents, suspensions, known, keys, responseScans, retention, mcpTools },
    ...{ traces, destinations, counters, budgets, history, numbers, admit },
  };
}

type Parts = ReturnType<typeof openParts>;

function assemble(dir: string, closers: Closer[], close: () => Promise<void>): Store {
  const on = openParts(dir, closers);
  const { disk, audit, agents, suspensions, known, keys, mcpTools, counters, numbers } = on;
  const nonces = new Nonces();
  const probe = disk.db.prepare('UPDATE probe SET written = written + 1');
  return {
    ...keys.store,
    keyUsage: async (tenantId, keyIds, nowMs) =>
      numbers.keyUsage(ownOf(keyIds, keys.among(tenantId, keyIds)), nowMs),
    ...agents.store,
    agentUsage: async (tenantId, agentIds, nowMs) =>
      counters.ofAgents(ownOf(agentIds, agents.among(tenantId, agentIds)), nowMs),
    ...suspensions.store,

    identify: (keyHash, nowMs) => known.identify(keyHash, nowMs),
    admit: on.admit,
    standingOf: async ({ tenantId, agentId, destination, charges }) => ({
      isNewDestination: !(isOwn(on, tenantId, agentId) && on.destinations.isKnown(agentId, destination)),
      exceededBudgets: on.budgets.peek(tenantId, charges),
    }),
    recall: (keyHash, nowMs, withinMs) => known.recall(keyHash, nowMs, withinMs),
    claimNonce: (...claim) => nonces.claim(...claim),
    ...createEmbeddedHomes(disk),
    usageOf: async (tenantId, nowMs) => numbers.tenantUsage(tenantId, nowMs),

    ...createEmbeddedPolicies(disk),
    ...createEmbeddedCredentials(disk),
    credentialUses: async (tenantId) => counters.ofCredentials(tenantId),
    ...createEmbeddedRoutes(disk),
    ...createEmbeddedSessions(disk),
    ...mcpTools.store,
    ...createEmbeddedApprovals(disk),
    ...createEmbeddedIncidents(disk),
    ...histories(on),
    ...recordedCalls(on),

    appendAudit: (event) => disk.commits.write(() => audit.append(event)),
    ...audit.store,
    ...createEmbeddedNotices(disk),
    ...createEmbeddedTold(disk),
    trouble: () => troubleOf(on, probe),
    close,
  };
}

const isOwn = ({ agents }: Parts, tenantId: string, agentId: string): boolean =>
  agents.among(tenantId, [agentId]).has(agentId);

/** Returns the methods for what is remembered of agents. */
const histories = (on: Parts): HistoryStore => ({
  noteSighting: on.history.noteSighting,
  trustOf: async (tenantId, agentIds) =>
    agentIds.map((it) => (isOwn(on, tenantId, it) ? on.history.trustOf(it) : wholeTrust)),
  async markTrust(tenantId, agentId, mark) {
    if (!isOwn(on, tenantId, agentId)) return;
    on.history.mark(agentId, mark);
    await on.traces.markTrust(agentId, mark);
  },
  async resetTrust(tenantId, agentId, event) {
    if (!isOwn(on, tenantId, agentId)) return;
    await on.disk.commits.write(() => on.audit.append(event));
    on.history.mark(agentId, null);
    await on.traces.markTrust(agentId, null);
  },
  restoreTrust(terms) {
    on.history.restoreTrust(terms);
    on.traces.restoreTrust(terms);
  },
});

const traceById = ({ retention, traces }: Parts, tenantId: string, traceId: string): string | undefined =>
  retention.isOld(tenantId, traceId) ? undefined : traces.byId(tenantId, traceId);

/** Returns the methods for traces, their counts, and the scans of answers. */
const recordedCalls = (on: Parts): TraceStore => ({
  noteCall(call) {
    on.destinations.note(call);
    on.budgets.note(call);
    on.history.note(call);
  },
  recordCalls: (batch) => on.traces.record(batch),
  traceById: async (tenantId, traceId) => traceById(on, tenantId, traceId),
  listTraces: (tenantId, filter, page) =>
    on.traces.list(tenantId, on.retention.keptOf(tenantId, filter), page),
  exportTraces: (tenantId, filter) => on.traces.export(tenantId, on.retention.keptOf(tenantId, filter)),
  tracesSince: async (tenantId, position) => on.traces.since(tenantId, position),
  callStats: async (tenantId, interval, fromMs, beforeMs, only) =>
    only
      ? on.traces.stats.readDecisions(tenantId, interval, fromMs, beforeMs)
      : on.traces.stats.read(tenantId, interval, fromMs, beforeMs),
  async addResponseScan(tenantId, traceId, scan) {
    if (traceById(on, tenantId, traceId) === undefined) return false;
    await on.responseScans.add(tenantId, traceId, scan);
    return true;
  },
  responseScansOf: async (tenantId, traceId) =>
    on.retention.isOld(tenantId, traceId) ? [] : on.responseScans.of(tenantId, traceId),
  keepTraces: (keptMsOf) => on.retention.keep(keptMsOf),
});

async function troubleOf(on: Parts, probe: Statement): Promise<string | undefined> {
  const { commits } = on.disk;
  if (on.traces.isFailing())
    return 'Calls cannot be stored: traces.db takes no batch. They wait in the journal.';
  if (on.retention.isFailing()) return 'Old traces cannot be removed.';
  // A write may not come for a long time, so this one finds out whether the disk is well again.
  if (commits.isFailing()) await commits.write(() => probe.run()).catch(() => undefined);
  return commits.isFailing()
    ? `Changes cannot be stored: state.db takes no transaction (${commits.failure}).`
    : undefined;
}

/** An id that nothing has. It stands for those of other tenants, so that their usage is shown as zero. */
const nobody = '';

const ownOf = (ids: readonly string[], own: ReadonlySet<string>): readonly string[] =>
  ids.map((id) => (own.has(id) ? id : nobody));
