import type { AuditEvent } from './audit.ts';
import type { MaybePromise } from './page.ts';

/** Keeps credentials of the vault, which has sealed them already. */
export interface CredentialStore {
  /**
   * Stores a credential, in place of one with its name. Rejects with CONFLICT where the tenant has no room
   * for it: see `rules/credentials.ts`.
   */
  putCredential(credential: SealedCredential, audit: AuditEvent): Promise<void>;
  /**
   * Returns the credential as the last `admit` of this tenant has left it; undefined where there is none, or
   * it was removed.
   */
  credentialOf(tenantId: string, name: string): MaybePromise<SealedCredential | undefined>;
  listCredentials(tenantId: string): Promise<readonly SealedCredential[]>;
  /** Replaces the sealed value if it is still `from`. Otherwise it changes nothing and returns false. */
  resealCredential(reseal: Reseal, audit: AuditEvent): Promise<boolean>;
  /**
   * Returns the use of every credential that calls were recorded with, by name. Removed credentials are
   * included.
   */
  credentialUses(tenantId: string): Promise<ReadonlyMap<string, CredentialUse>>;
  /** Removes a credential; returns false where there is none. */
  removeCredential(tenantId: string, name: string, audit: AuditEvent): Promise<boolean>;
}

export interface Reseal extends Pick<SealedCredential, 'tenantId' | 'name'> {
  readonly from: string;
  readonly to: string;
}

/** The use of a credential by calls that were let out. */
export interface CredentialUse {
  readonly uses: number;
  readonly lastUsedAtMs: number;
}

/** A stored credential: the vault has sealed it, and only the vault can open it. */
export interface SealedCredential {
  readonly tenantId: string;
  readonly name: string;
  readonly type: string;
  readonly sealed: string;
  readonly changedAtMs: number;
}
