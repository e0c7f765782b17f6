import type { Verb } from '../../core/call.ts';
import type { AuditEvent } from './audit.ts';
import type { Page, Paged } from './page.ts';

/** Keys and what their holders have used. */
export interface KeyStore {
  /**
   * Adds a key and its audit entry. Rejects with CONFLICT where the id or the hash is taken. Rejects with
   * NOT_FOUND where its agent is not known in its tenant, or its parent is not an active key of it. Rejects
   * with GATEWAY_BUSY where its parent has 10,000 that live. With an ephemeral key that is added, some go
   * that ended a week before.
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
  /**
   * Marks the key revoked, with its audit entry; a revoked key stays as it is. It holds from the next `admit`
   * on, for its children too.
   */
  revokeKey(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;
  /** Returns the usage of each key, in the order of the ids; zeros for one that was never used. */
  keyUsage(tenantId: string, keyIds: readonly string[], nowMs: number): Promise<readonly KeyUsage[]>;
}

/** Those that a key belongs to. */
interface KeyOwner {
  readonly tenantId: string;
  readonly envName: string;
  /** Further environments that the key may name. */
  readonly envNames: readonly string[];
  readonly agentId: string;
}

/** The calls that a key may make. */
interface KeyRights {
  readonly permissions: readonly string[];
  /** CIDRs; null means any address. */
  readonly ipAllowlist: readonly string[] | null;
  /** Its own steady rate, beside that of its tenant. */
  readonly perMinute: number | null;
  readonly requireNonce: boolean;
  readonly maxUses: number | null;
  /** null: everything. An empty list: nothing. */
  readonly scope: KeyScope | null;
}

export interface KeyRecord extends KeyOwner, KeyRights {
  readonly keyId: string;
  /** HMAC-SHA-256 of the key's SHA-256 with the server's pepper, hex. */
  readonly hash: string;
  readonly prefix: string;
  readonly type: 'live' | 'ephemeral';
  readonly name: string;
  readonly description: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly revokedAtMs: number | null;
  /** Who revoked it: a prefix, `admin`, `config`; null where nobody has. */
  readonly revokedBy: string | null;
  /** The live key that an ephemeral key ends with. */
  readonly parentKeyId: string | null;
  /** The key comes from the configuration: the API does not change it. */
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
  /** Admitted within the last 24 hours, by full hours. */
  readonly calls24h: number;
  /** Refused with IP_NOT_ALLOWED, ever. */
  readonly blockedAttempts: number;
  /** Admitted, ever: the uses of an ephemeral key. */
  readonly uses: number;
}
