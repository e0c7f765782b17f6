import type { Band, Decision, Identity, Verb } from '../call.ts';

/**
 * The one port to the state. Operations carry the names of what the gateway does; each is atomic, on one node and on many. Time and ids
 * are arguments. What is acknowledged (keys, agents, policies, approvals, incidents, credentials, audit entries) is durable before the
 * promise resolves and survives SIGKILL; traces are written behind in batches.
 *
 * What cannot be read or written fails with STATE_UNAVAILABLE, and nothing has changed.
 *
 * A method may answer at once or with a promise: the embedded driver answers `admit` from memory, and the pipeline then spends no turn of
 * the event loop on it. Records of one tenant are never answered to another: whoever asks with the wrong tenant gets `undefined`.
 */
export interface Store {
  // Keys
  /**
   * Adds a key and its audit entry. Rejects with CONFLICT where the id or the hash is taken, and with NOT_FOUND where its agent is not
   * known in its tenant, or its parent is not an active key of it.
   */
  addKey(key: KeyRecord, audit: AuditEvent): Promise<void>;
  keyById(tenantId: string, keyId: string): Promise<KeyRecord | undefined>;
  /** Newest first. */
  listKeys(tenantId: string, page: Page): Promise<Paged<KeyRecord>>;
  /** Changes what `change` names. Holds from the next `admit` on. */
  updateKey(
    tenantId: string,
    keyId: string,
    change: KeyChange,
    audit: AuditEvent,
  ): Promise<KeyRecord | undefined>;
  /** Marks the key revoked, with its audit entry; a revoked key stays as it is. Holds, for its children too, from the next `admit` on. */
  revokeKey(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;
  /** In the order of the ids; zeros for one that was never used. */
  keyUsage(tenantId: string, keyIds: readonly string[], nowMs: number): Promise<readonly KeyUsage[]>;

  // Agents
  /** Adds the agent unless it is there; answers the one that stands. An agent never changes its tenant. */
  ensureAgent(agent: AgentRecord): Promise<AgentRecord>;
  agentById(agentId: string): Promise<AgentRecord | undefined>;
  /** By time of creation, newest first. */
  listAgents(tenantId: string, page: Page): Promise<Paged<AgentRecord>>;
  updateAgent(
    tenantId: string,
    agentId: string,
    change: AgentChange,
    audit: AuditEvent,
  ): Promise<AgentRecord | undefined>;
  agentUsage(tenantId: string, agentIds: readonly string[], nowMs: number): Promise<readonly AgentUsage[]>;

  // Tenants that were registered by minting for them, beside those of the configuration
  registerTenant(tenantId: string, nowMs: number): Promise<void>;
  registeredTenants(): Promise<readonly string[]>;

  // The hot path
  /** Who is this? Counts nothing; used where a tunnel opens and where a management call is authenticated. */
  identify(keyHash: string, nowMs: number): MaybePromise<Identification>;
  /**
   * Everything that a call needs from the state, in one atomic round trip: the key and its parent, its agent, allowlist, permission,
   * environment, quota, buckets, use count, scope, counters. What is refused has taken nothing from quota, bucket and uses.
   */
  admit(request: AdmitRequest): MaybePromise<Admission>;
  /** Of an identity that `identify` or `admit` answered within the last `withinMs`: for calls that may pass while the state is away. */
  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined;
  /** True once for each nonce of a key until `endsAtMs`, on all nodes together. */
  claimNonce(
    tenantId: string,
    keyId: string,
    nonce: string,
    nowMs: number,
    endsAtMs: number,
  ): MaybePromise<boolean>;
  usageOf(tenantId: string, nowMs: number): Promise<TenantUsage>;

  // Policies
  /**
   * Adds the next version of a policy, atomically: concurrent applies get consecutive versions and none is lost. A policy keeps the id
   * of its first version. The audit entry's details receive `version` and `unchanged`.
   */
  applyPolicy(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  /**
   * The latest version of each policy that is not archived, of one tenant, as the last `admit` of this tenant has left them. The same
   * array until one of them changes, so that what is compiled of it can be kept beside it.
   */
  policiesOf(tenantId: string): MaybePromise<readonly PolicyRecord[]>;
  /** The latest version for that environment, else the one for all environments. */
  policyByName(tenantId: string, name: string, envName: string | null): Promise<PolicyRecord | undefined>;

  // Approvals
  /**
   * What becomes of a call that must be held, in one step: a grant for the identical call (`callHash`) is spent, a denial still stands,
   * a pending approval is the same one, or else this one is opened.
   */
  holdCall(approval: ApprovalRecord): Promise<Hold>;
  /** Decides once: whoever comes second is told what stands. Undefined where there is no such approval. */
  decideApproval(
    tenantId: string,
    approvalId: string,
    decision: ApprovalDecision,
    audit: AuditEvent,
  ): Promise<{ readonly isDecidedNow: boolean; readonly approval: ApprovalRecord } | undefined>;
  /** The record as of `nowMs`: a pending one past its end is `expired`. */
  approvalById(tenantId: string, approvalId: string, nowMs: number): Promise<ApprovalRecord | undefined>;
  /** Newest first; of one status, or all. */
  listApprovals(
    tenantId: string,
    status: ApprovalRecord['status'] | undefined,
    nowMs: number,
    page: Page,
  ): Promise<Paged<ApprovalRecord>>;

  // Incidents
  /** Opens an incident; while one of the same agent and trigger is not closed, adds the trace to that one instead, which is answered. */
  openIncident(
    incident: IncidentRecord,
    audit: AuditEvent,
  ): Promise<{ readonly isNew: boolean; readonly incident: IncidentRecord }>;
  incidentById(tenantId: string, incidentId: string): Promise<IncidentRecord | undefined>;
  /** Newest first. */
  listIncidents(tenantId: string, filter: IncidentFilter, page: Page): Promise<Paged<IncidentRecord>>;
  /** Applies the change unless the incident has left `expectedStatus` meanwhile: then it rejects with CONFLICT. */
  changeIncident(
    tenantId: string,
    incidentId: string,
    expectedStatus: IncidentRecord['status'],
    change: IncidentChange,
    audit: AuditEvent,
  ): Promise<IncidentRecord | undefined>;

  // Credentials of the vault: what is stored is sealed already
  putCredential(credential: SealedCredential, audit: AuditEvent): Promise<void>;
  /** As the last `admit` of this tenant has left it; undefined where there is none, or it was revoked. */
  credentialOf(tenantId: string, name: string): MaybePromise<SealedCredential | undefined>;
  listCredentials(tenantId: string): Promise<readonly SealedCredential[]>;
  /** False where there is none. */
  removeCredential(tenantId: string, name: string, audit: AuditEvent): Promise<boolean>;

  // What happened
  /**
   * A call has ended and is in the journal: when it was let out, its destination is known to the next `admit`, which would otherwise
   * wait for the batch. Never throws; `recordCalls` makes it last.
   */
  noteCall(call: RecordedCall): void;
  /**
   * Takes a batch of finished calls: traces become findable, destinations of calls that were let out (ALLOW, SANITIZE) known, counters of
   * agents grow. All of the batch or nothing. Applying the same calls again, then marked `mayRepeat`, changes nothing. Answers how many
   * lines are not whole and were left out.
   */
  recordCalls(batch: CallBatch): Promise<number>;
  /** The trace as JSON text; undefined for what is no UUID of version 7. */
  traceById(tenantId: string, traceId: string): Promise<string | undefined>;
  /** Newest first, as JSON texts. Looks at a bounded number of traces: `nextCursor` may stand beside few items or none. */
  listTraces(tenantId: string, filter: TraceFilter, page: Page): Promise<Paged<string>>;
  /** Keeps what was found in the answer to a call, as JSON text, at most 16 a trace (CONFLICT). False where there is no such trace. */
  addResponseScan(tenantId: string, traceId: string, scan: string): Promise<boolean>;
  responseScansOf(tenantId: string, traceId: string): Promise<readonly string[]>;

  // The audit log
  appendAudit(audit: AuditEvent): Promise<void>;
  /** Newest first. */
  listAudit(tenantId: string, filter: AuditFilter, page: Page): Promise<Paged<AuditEntry>>;
  /** Oldest first, each as its canonical JSON text with its hash. */
  exportAudit(tenantId: string): AsyncIterable<{ readonly entry: string; readonly hash: string }>;
  /** Recomputes a tenant's audit chain. */
  verifyAudit(tenantId: string): Promise<AuditCheck>;

  /** A sentence that says what is wrong; undefined where all is well. Never rejects. */
  trouble(): Promise<string | undefined>;
  close(): Promise<void>;
}

export type MaybePromise<T> = T | Promise<T>;

/** `cursor` is what an earlier answer gave; rejected with VALIDATION_FAILED where it is none. */
export interface Page {
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface Paged<T> {
  readonly items: readonly T[];
  /** null at the end. */
  readonly nextCursor: string | null;
}

export interface KeyRecord {
  readonly keyId: string;
  /** HMAC-SHA-256 of the key's SHA-256 with the server's pepper, hex. */
  readonly hash: string;
  readonly prefix: string;
  readonly type: 'live' | 'ephemeral';
  readonly tenantId: string;
  readonly envName: string;
  /** Further environments that the key may name. */
  readonly envNames: readonly string[];
  readonly agentId: string;
  readonly name: string;
  readonly description: string | null;
  readonly permissions: readonly string[];
  /** CIDRs; null means any address. */
  readonly ipAllowlist: readonly string[] | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Who revoked it: a prefix, `admin`, `config`; null where nobody has. */
  readonly revokedBy: string | null;
  /** Its own steady rate, beside that of its tenant. */
  readonly perMinute: number | null;
  readonly requireNonce: boolean;
  /** Of an ephemeral key: the live one that it dies with. */
  readonly parentKeyId: string | null;
  readonly maxUses: number | null;
  /** null: everything. An empty list: nothing. */
  readonly scope: KeyScope | null;
  /** Whether the configuration made it: the API does not change it. */
  readonly isFromConfig: boolean;
}

export interface KeyScope {
  readonly tools: readonly string[] | null;
  readonly verbs: readonly Verb[] | null;
}

export type KeyChange = Partial<
  Pick<KeyRecord, 'name' | 'description' | 'ipAllowlist' | 'permissions' | 'expiresAtMs' | 'envNames'>
>;

export interface KeyUsage {
  /** Of the last call that was admitted; null where there was none. */
  readonly lastSeenAtMs: number | null;
  /** Admitted within the last 24 hours, by full hours. */
  readonly calls24h: number;
  /** Refused with IP_NOT_ALLOWED, ever. */
  readonly blockedAttempts: number;
  /** Admitted, ever: the uses of an ephemeral key. */
  readonly uses: number;
}

export interface AgentRecord {
  readonly agentId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly name: string;
  readonly runtimeType: string | null;
  readonly status: 'active' | 'suspended';
  readonly createdAtMs: number;
}

export type AgentChange = Partial<Pick<AgentRecord, 'name' | 'runtimeType' | 'status'>>;

export interface AgentUsage {
  readonly firstSeenAtMs: number | null;
  readonly lastSeenAtMs: number | null;
  readonly callsTotal: number;
  /** By full hours. */
  readonly decisions24h: Readonly<Record<Decision, number>>;
}

export type Identification =
  | {
      readonly ok: true;
      readonly key: KeyRecord;
      readonly identity: Identity;
      readonly agentStatus: AgentRecord['status'];
    }
  | { readonly ok: false; readonly code: 'INVALID_KEY'; readonly detail: string };

export interface AdmitRequest {
  readonly keyHash: string;
  readonly nowMs: number;
  /** An agent that the call names; it must be known to the state and of the key's tenant. Undefined: the key's own. */
  readonly agentId: string | undefined;
  /** An environment that the call names; the key must be of it, or may name it. */
  readonly envName: string | undefined;
  /** Of the caller, for the allowlist of the key. */
  readonly clientAddress: string;
  /** What the call would touch: resource or host, as `is_new_destination` counts it. */
  readonly destination: string;
  /** For the scope of an ephemeral key. */
  readonly toolName: string;
  readonly verb: Verb;
  /** `call` counts in full; `rate` takes from the buckets alone (`/v1/scan/response`). */
  readonly counts: 'call' | 'rate';
  /** The same function as long as the configuration is the same. Undefined: the tenant is not served, and its keys are not valid. */
  readonly termsOf: (tenantId: string) => TenantTerms | undefined;
}

/** What the plan of a tenant grants. null is unlimited. */
export interface TenantTerms {
  readonly scansPerMonth: number | null;
  readonly scansPerMinute: number | null;
  /** Capacity of the bucket; null: twice the rate. */
  readonly burst: number | null;
  /** Of each key that has no rate of its own. */
  readonly perKeyScansPerMinute: number | null;
  /** Calls beyond the quota are let in and counted. */
  readonly overage: boolean;
}

export type Admission = Admitted | NotAdmitted;

export interface Admitted {
  readonly ok: true;
  readonly key: KeyRecord;
  /** In the environment and with the agent that the call names. */
  readonly identity: Identity;
  readonly agentStatus: AgentRecord['status'];
  readonly isNewDestination: boolean;
  /** Sentences; empty where the call is within the scope of its key. The use is spent all the same. */
  readonly scopeViolations: readonly string[];
  /** Of the quota in this month, this call included. */
  readonly scansUsed: number;
}

export interface NotAdmitted {
  readonly ok: false;
  readonly code:
    | 'INVALID_KEY'
    | 'IP_NOT_ALLOWED'
    | 'FORBIDDEN'
    | 'CROSS_TENANT'
    | 'CROSS_ENVIRONMENT'
    | 'UNKNOWN_AGENT'
    | 'RATE_LIMITED'
    | 'QUOTA_EXCEEDED';
  readonly detail: string;
  /** Whose key it was, for the record; undefined where no known key was presented. */
  readonly identity: Identity | undefined;
  /** With RATE_LIMITED and QUOTA_EXCEEDED: at least 1. */
  readonly retryAfterSeconds?: number;
}

export interface TenantUsage {
  /** Of the calendar month (UTC) that `nowMs` lies in. */
  readonly scansUsed: number;
  /** Refused with RATE_LIMITED, by full hours. */
  readonly rateLimitHits24h: number;
  /** Admitted within the last minute, by slots of ten seconds. */
  readonly currentRatePerMin: number;
}

export interface PolicyApply {
  readonly tenantId: string;
  readonly policyId: string;
  readonly name: string;
  /** null: all environments. */
  readonly envName: string | null;
  readonly description: string;
  /** Rules as JSON, already validated. */
  readonly rules: readonly unknown[];
  readonly mode: 'enforce' | 'monitor';
  readonly nowMs: number;
  readonly createdBy: string;
}

export interface PolicyRecord extends PolicyApply {
  /** 1, 2, 3, … for each name and environment of a tenant. */
  readonly version: number;
  /** Description, rules and mode equal those of the version before. */
  readonly unchanged: boolean;
}

export interface ApprovalRecord {
  readonly approvalId: string;
  readonly status: 'pending' | 'approved' | 'denied' | 'expired';
  /** SHA-256 of the canonical call: same agent, method, URL and body. */
  readonly callHash: string;
  readonly traceId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly keyId: string;
  readonly toolName: string;
  readonly operation: string;
  readonly method: string;
  /** Redacted. */
  readonly url: string;
  /** Redacted and bounded. */
  readonly bodyPreview: string;
  readonly reasonCodes: readonly string[];
  readonly riskScore: number;
  readonly riskBand: string;
  readonly policyId: string | null;
  readonly ruleId: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly decidedAtMs: number | null;
  readonly decidedBy: string | null;
  readonly note: string | null;
  /** How often an approval counts; null until it is approved. */
  readonly scope: 'once' | 'window' | null;
  /** Until when the decision counts for identical calls. */
  readonly countsUntilMs: number | null;
  /** When a grant of scope `once` was used. */
  readonly spentAtMs: number | null;
}

export interface ApprovalDecision {
  readonly decision: 'approved' | 'denied';
  readonly decidedBy: string;
  readonly note: string | null;
  readonly scope: 'once' | 'window';
  readonly nowMs: number;
  /** From now on, for identical calls; 0 = for none. */
  readonly windowMs: number;
}

/** `granted` has spent the grant where it is for one call. */
export interface Hold {
  readonly kind: 'granted' | 'denied' | 'pending';
  readonly approval: ApprovalRecord;
  /** The approval was opened by this step. */
  readonly isNew: boolean;
}

export interface IncidentRecord {
  readonly incidentId: string;
  readonly tenantId: string;
  readonly envName: string;
  readonly agentId: string;
  /** What opened it: `policy:<name>`, `critical-denial`, `scope-violation`, `manual`, … One open incident an agent and trigger. */
  readonly trigger: string;
  readonly title: string;
  readonly severity: Band;
  readonly status: 'open' | 'investigating' | 'closed';
  /** The last 100; `traceCount` counts all. */
  readonly traceIds: readonly string[];
  readonly traceCount: number;
  readonly openedAtMs: number;
  readonly changedAtMs: number;
  readonly closedAtMs: number | null;
  readonly closeCode: string | null;
  readonly closedBy: string | null;
  /** The last 100. */
  readonly notes: readonly IncidentNote[];
}

export interface IncidentNote {
  readonly atMs: number;
  readonly author: string;
  readonly text: string;
}

export interface IncidentFilter {
  readonly status?: IncidentRecord['status'];
  readonly agentId?: string;
  readonly severity?: Band;
}

/** What a change says nothing of stays. */
export interface IncidentChange {
  readonly status?: IncidentRecord['status'];
  readonly severity?: Band;
  readonly closeCode?: string;
  readonly note?: IncidentNote;
}

/** A stored credential: the vault has sealed it, and only the vault can open it. */
export interface SealedCredential {
  readonly tenantId: string;
  readonly name: string;
  readonly type: string;
  readonly sealed: string;
  readonly changedAtMs: number;
}

export interface TraceFilter {
  readonly agentId?: string;
  readonly toolName?: string;
  readonly operation?: string;
  readonly decision?: Decision;
  readonly reason?: string;
  readonly band?: Band;
  readonly dataClass?: string;
  readonly tag?: string;
  /** From, inclusive, to `beforeMs`, exclusive. */
  readonly fromMs?: number;
  readonly beforeMs?: number;
  /** Case-insensitive, anywhere in the trace. */
  readonly text?: string;
}

/** One entry of a tenant's append-only, hash-chained audit log. Never holds a key, only its prefix. */
export interface AuditEvent {
  readonly tenantId: string;
  readonly atMs: number;
  /** `key.created`, `key.revoked`, `policy.applied`, … */
  readonly kind: string;
  /** A key's prefix, `admin`, `config`, `first-start`. */
  readonly operator: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditEntry extends AuditEvent {
  readonly seq: number;
  readonly previous: string;
  readonly hash: string;
}

export interface AuditFilter {
  readonly kind?: string;
  readonly subject?: string;
}

/** `head` is the hash of the last entry; `seq` the first entry that is missing, or not what was written. */
export type AuditCheck =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly seq: number; readonly problem: 'missing' | 'altered' };

export interface RecordedCall {
  /** A UUID of version 7: traces are looked up by the time in it. */
  readonly traceId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly decision: Decision;
  /**
   * What `admit` made of it: `call` was admitted and counted, `blocked` came from an address outside the allowlist, `limited` was over
   * a rate; all others are `refused`.
   */
  readonly outcome: 'call' | 'blocked' | 'limited' | 'refused';
  readonly destination: string;
  /** The trace as JSON text: one object, one line. */
  readonly line: string;
}

/** Calls in bulk, as the journal has them on disk: taking them one by one would cost more than storing them. */
export interface CallBatch {
  /** Whole lines of `toLine` (`journal/line.ts`) as UTF-8. The driver may take the memory away, to another thread for example. */
  readonly lines: Uint8Array<ArrayBuffer>;
  /** Some may have been given to the store before. Where it is false the store need not look. */
  readonly mayRepeat: boolean;
}
