import type { AuditEvent } from './audit.ts';
import type { MaybePromise } from './page.ts';

/** Credentials of the vault: what is stored is sealed already. */
export interface CredentialStore {
  putCredential(credential: SealedCredential, audit: AuditEvent): Promise<void>;
  /** As the last `admit` of this tenant has left it; undefined where there is none, or it was revoked. */
  credentialOf(tenantId: string, name: string): MaybePromise<SealedCredential | undefined>;
  listCredentials(tenantId: string): Promise<readonly SealedCredential[]>;
  /** False where there is none. */
  removeCredential(tenantId: string, name: string, audit: AuditEvent): Promise<boolean>;
}

/** A stored credential: the vault has sealed it, and only the vault can open it. */
export interface SealedCredential {
  readonly tenantId: string;
  readonly name: string;
  readonly type: string;
  readonly sealed: string;
  readonly changedAtMs: number;
}
