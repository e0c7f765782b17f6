import type { Decision, Identity } from '../call.ts';

/**
 * The one port to the state. Operations carry the names of what the gateway does; each is atomic. Time and ids are
 * arguments. What is acknowledged (keys, agents, policies, approvals, audit entries) is on disk before the promise resolves and
 * survives SIGKILL; counters and traces are written behind in batches.
 *
 * What cannot be read or written fails with STATE_UNAVAILABLE, and nothing has changed.
 *
 * A method may answer at once or with a promise: the embedded driver answers `admit` from memory, and the pipeline then spends no turn of the event loop on it.
 */
export interface Store {
  // Keys
  /**
   * Adds a key and its audit entry. Rejects with CONFLICT where the id or the hash is taken, and with NOT_FOUND where its agent
   * is not known in its tenant.
   */
  addKey(key: KeyRecord, audit: AuditEvent): Promise<void>;
  keyById(tenantId: string, keyId: string): Promise<KeyRecord | undefined>;
  /** Marks the key revoked, with its audit entry; a revoked key stays as it is. Holds from the next `admit` on. */
  revokeKey(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;

  // Agents
  /** Adds the agent unless it is there; answers the one that stands. An agent never changes its tenant. */
  ensureAgent(agent: AgentRecord): Promise<AgentRecord>;
  agentById(agentId: string): Promise<AgentRecord | undefined>;

  // Tenants that were registered by minting for them, beside those of the configuration
  registerTenant(tenantId: string, nowMs: number): Promise<void>;
  registeredTenants(): Promise<readonly string[]>;

  // The hot path
  /** Who is this? Counts nothing; used where a tunnel opens and where a management call is authenticated. */
  identify(keyHash: string, nowMs: number): MaybePromise<Identification>;
  /** Everything that a call needs from the state, in one atomic round trip. */
  admit(request: AdmitRequest): MaybePromise<Admission>;

  // Policies
  /**
   * Adds the next version of a policy, atomically: concurrent applies get consecutive versions and none is lost. A policy keeps
   * the id of its first version. The audit entry's details receive `version` and `unchanged`.
   */
  applyPolicy(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  /**
   * The latest version of each policy that is not archived, of one tenant. The same array until one of them changes, so that
   * what is compiled of it can be kept beside it.
   */
  policiesOf(tenantId: string): MaybePromise<readonly PolicyRecord[]>;
  /** The latest version for that environment, else the one for all environments. */
  policyByName(tenantId: string, name: string, envName: string | null): Promise<PolicyRecord | undefined>;

  // Approvals
  /** Opens an approval; while an identical call's one (`callHash`) is pending, answers that one instead. */
  openApproval(approval: ApprovalRecord): Promise<ApprovalRecord>;
  /** The record as of `nowMs`: a pending one past its end is `expired`. */
  approvalById(tenantId: string, approvalId: string, nowMs: number): Promise<ApprovalRecord | undefined>;

  // What happened
  /**
   * A call has ended and is in the journal: when it was let out, its destination is known to the next `admit`, which would
   * otherwise wait for the batch. Never throws; `recordCalls` makes it last.
   */
  noteCall(call: RecordedCall): void;
  /**
   * Takes a batch of finished calls: traces become findable, destinations of calls that were let out (ALLOW, SANITIZE) known.
   * All of the batch or nothing. Applying the same batch again, then marked `mayRepeat`, changes nothing. Answers how many
   * lines are not whole and were left out.
   */
  recordCalls(batch: CallBatch): Promise<number>;
  /** The trace as JSON text; undefined for what is no UUID of version 7. */
  traceById(tenantId: string, traceId: string): Promise<string | undefined>;
  /** Recomputes a tenant's audit chain. */
  verifyAudit(tenantId: string): Promise<AuditCheck>;

  close(): Promise<void>;
}

export type MaybePromise<T> = T | Promise<T>;

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
  readonly perMinute: number | null;
  readonly requireNonce: boolean;
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
  /** What the call would touch: resource or host, as `is_new_destination` counts it. */
  readonly destination: string;
}

export type Admission =
  | (Identification & { readonly ok: true; readonly isNewDestination: boolean })
  | {
      readonly ok: false;
      readonly code: 'INVALID_KEY' | 'CROSS_TENANT' | 'CROSS_ENVIRONMENT' | 'UNKNOWN_AGENT';
      readonly detail: string;
    };

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

/** `head` is the hash of the last entry; `seq` the first entry that is missing, or not what was written. */
export type AuditCheck =
  | { readonly ok: true; readonly entries: number; readonly head: string }
  | { readonly ok: false; readonly seq: number; readonly problem: 'missing' | 'altered' };

export interface RecordedCall {
  /** A UUID of version 7: traces are looked up by the time in it. */
  readonly traceId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly atMs: number;
  readonly decision: Decision;
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
