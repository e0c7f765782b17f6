import type { AuditEvent } from './audit.ts';
import type { MaybePromise, Page, Paged } from './page.ts';

/** Keeps policies in versions. */
export interface PolicyStore {
  /**
   * Adds the next version of a policy, atomically: concurrent applies get consecutive versions and none is
   * lost. A policy keeps the id of its first version. An archived policy goes on with the next version. The
   * audit entry's details receive `version` and `unchanged`. Rejects with VALIDATION_FAILED where the
   * tenant's latest versions together would pass a bound: see `policy-bounds.ts`.
   */
  applyPolicy(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  /**
   * Returns the latest version of each policy of a tenant that is not archived, as the last `admit` of this
   * tenant has left them. It is the same array until one of them changes, so that compiled rules can be kept
   * beside it.
   */
  policiesOf(tenantId: string): MaybePromise<readonly PolicyRecord[]>;
  /**
   * Returns the latest version for the environment, else that for all environments. Archived policies do not
   * count.
   */
  policyByName(tenantId: string, name: string, envName: string | null): Promise<PolicyRecord | undefined>;
  /**
   * Lists the versions for exactly this environment (null: all), newest first, archived ones too. The last
   * 1,000 are kept; a page has at most 50.
   */
  policyVersions(
    tenantId: string,
    name: string,
    envName: string | null,
    page: Page,
  ): Promise<Paged<PolicyRecord>>;
  /**
   * Archives the latest version, which counts no more from the next `admit` on. Undefined where there is
   * none, or it is archived already. A tenant keeps 200 archived policies. Beyond that, the policy that was
   * archived first is forgotten with its versions.
   */
  archivePolicy(archive: PolicyArchive, audit: AuditEvent): Promise<PolicyRecord | undefined>;
}

export interface PolicyArchive {
  readonly tenantId: string;
  readonly name: string;
  /** The environment of the policy; null: all environments. */
  readonly envName: string | null;
  readonly nowMs: number;
}

export interface PolicyApply extends PolicyArchive {
  readonly policyId: string;
  readonly description: string;
  /** The rules as JSON values, already validated. */
  readonly rules: readonly unknown[];
  readonly mode: 'enforce' | 'monitor';
  readonly createdBy: string;
}

export interface PolicyRecord extends PolicyApply {
  /** The number of the version: 1, 2, 3, … for each name and environment of a tenant. */
  readonly version: number;
  /** Whether description, rules and mode equal those of the version before. */
  readonly unchanged: boolean;
  /** The time of archiving, on the version that was the latest then; null on all others. */
  readonly archivedAtMs: number | null;
}
