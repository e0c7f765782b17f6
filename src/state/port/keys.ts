import type { Verb } from '../../core/call.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Keeps keys and what their holders have used. */
export interface KeyStore {
  /**
   * Adds a key and its audit entry. Rejects with CONFLICT where the id or the hash is taken. Rejects with
   * NOT_FOUND where its agent is not known in its tenant, or its parent is not an active key of it. Rejects
   * with GATEWAY_BUSY where its parent has 10,000 live ones. An added ephemeral key removes some that ended a
   * week before.
   */
  addKey(key: KeyRecord, audit: AuditEvent): Promise<void>;
  keyById(tenantId: string, keyId: string): Promise<KeyRecord | undefined>;
  /** Lists keys, newest first. */
  listKeys(tenantId: string, page: Page): Promise<Paged<KeyRecord>>;
  /** Changes the fields that `change` names, from the next `admit` on. */
  updateKey(
    tenantId: string,
    keyId: string,
    change: KeyChange,
    audit: AuditEvent,
  ): Promise<KeyRecord | undefined>;
  /**
   * Marks the key as revoked, from the next `admit` on, for its children too. A key that is revoked already
   * stays as it is, without a second audit entry.
   */
  revokeKey(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;
  /** Returns the usage of each key, in the order of the ids; zeros for one that was never used. */
  keyUsage(tenantId: string, keyIds: readonly string[], nowMs: number): Promise<readonly KeyUsage[]>;
}

/** The tenant, environments and agent that a key belongs to. */
interface KeyOwner {
  readonly tenantId: string;
  readonly envName: string;
  /** Further environments that the key may name. */
  readonly envNames: readonly string[];
  readonly agentId: string;
}

/** The calls that a key may make, and from where. */
interface KeyRights {
  readonly permissions: readonly string[];
  /** The CIDRs that the key may be used from; null: any address. */
  readonly ipAllowlist: readonly string[] | null;
  /** The key's own steady rate, beside that of its tenant; null: that of the plan. */
  readonly perMinute: number | null;
  readonly requireNonce: boolean;
  readonly maxUses: number | null;
  /**
   * The tools and verbs that the key is restricted to; null: no restriction. An empty list in it allows
   * nothing.
   */
  readonly scope: KeyScope | null;
}

export interface KeyRecord extends KeyOwner, KeyRights {
  readonly keyId: string;
  /** The HMAC-SHA-256 of the key's SHA-256 with the server's pepper, in hex. */
  readonly hash: string;
  readonly prefix: string;
  readonly type: 'live' | 'ephemeral';
  readonly name: string;
  readonly description: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Who revoked it: a key's prefix, `admin`, `config`; null where nobody has. */
  readonly revokedBy: string | null;
  /** The live key that an ephemeral key was made with, and ends with; null for live keys. */
  readonly parentKeyId: string | null;
  /** Whether the key comes from the configuration; the API does not change such keys. */
  readonly isFromConfig: boolean;
}

interface KeyScope {
  readonly tools: readonly string[] | null;
  readonly verbs: readonly Verb[] | null;
}

export type KeyChange = Partial<
  Pick<KeyRecord, 'name' | 'description' | 'ipAllowlist' | 'permissions' | 'expiresAtMs' | 'envNames'>
>;

export interface KeyUsage {
  /** The time of the last admitted call; null where there was none. */
  readonly lastSeenAtMs: number | null;
  /** The calls admitted within the last 24 hours, counted by whole hours. */
  readonly calls24h: number;
  /** All calls that were ever refused with IP_NOT_ALLOWED. */
  readonly blockedAttempts: number;
  /** All calls that were ever admitted. They count as the uses of an ephemeral key. */
  readonly uses: number;
}
