import type { AuditEvent } from './audit.ts';
import type { MaybePromise, Page, Paged } from './page.ts';

/** Policies, by version. */
export interface PolicyStore {
  /**
   * Adds the next version of a policy, atomically: concurrent applies get consecutive versions and none is
   * lost. A policy keeps the id of its first version; one that was archived goes on with the next version.
   * The audit entry's details receive `version` and `unchanged`. Rejects with VALIDATION_FAILED where the
   * latest versions of the tenant would pass a bound in all: `policy-bounds.ts`.
   */
  applyPolicy(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  /**
   * Returns the latest version of each policy that is not archived, of one tenant, as the last `admit` of
   * this tenant has left them. The same array until one of them changes, so that what is compiled of it can
   * be kept beside it.
   */
  policiesOf(tenantId: string): MaybePromise<readonly PolicyRecord[]>;
  /** Returns the latest version for the environment, else that for all; none where it is archived. */
  policyByName(tenantId: string, name: string, envName: string | null): Promise<PolicyRecord | undefined>;
  /**
   * Lists versions of exactly this environment (null: all), newest first, archived ones too. The last 1,000
   * are kept; a page has at most 50.
   */
  policyVersions(
    tenantId: string,
    name: string,
    envName: string | null,
    page: Page,
  ): Promise<Paged<PolicyRecord>>;
  /**
   * The latest version counts no more from the next `admit` on. Undefined where there is none, or it is
   * archived already. Of a tenant 200 archived ones are kept: beyond that, the one that was archived first is
   * forgotten with its versions.
   */
  archivePolicy(archive: PolicyArchive, audit: AuditEvent): Promise<PolicyRecord | undefined>;
}

export interface PolicyArchive {
  readonly tenantId: string;
  readonly name: string;
  /** null: the policy for all environments. */
  readonly envName: string | null;
  readonly nowMs: number;
}

export interface PolicyApply extends PolicyArchive {
  readonly policyId: string;
  readonly description: string;
  /** Rules as JSON, already validated. */
  readonly rules: readonly unknown[];
  readonly mode: 'enforce' | 'monitor';
  readonly createdBy: string;
}

export interface PolicyRecord extends PolicyApply {
  /** 1, 2, 3, … for each name and environment of a tenant. */
  readonly version: number;
  /** Description, rules and mode equal those of the version before. */
  readonly unchanged: boolean;
  /** Set on the version that was the latest when the policy was archived; null on all others. */
  readonly archivedAtMs: number | null;
}
