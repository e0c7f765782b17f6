import type { AuditEvent, PolicyApply, PolicyRecord } from '../store.ts';
import { type Audit, toCanonicalJson } from './audit.ts';
import { createCache } from './cache.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, toRecord } from './sqlite.ts';

export interface Policies {
  apply(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  /** At once, and the same array until a policy of the tenant changes: what is compiled of it can be kept beside it. */
  of(tenantId: string): readonly PolicyRecord[];
  byName(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined;
}

const cachedTenantsMax = 2_048;
const allEnvironments = '';

export function createPolicies(db: Database, commits: GroupCommit, audit: Audit): Policies {
  const latest = db.prepare(
    'SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? ORDER BY version DESC LIMIT 1',
  );
  const latestOfAll = db.prepare(`
    SELECT record FROM policies AS policy WHERE tenant_id = ? AND version = (
      SELECT max(version) FROM policies
      WHERE tenant_id = policy.tenant_id AND name = policy.name AND env_name = policy.env_name
    ) ORDER BY name, env_name
  `);
  const insert = db.prepare(
    'INSERT INTO policies (tenant_id, name, env_name, version, record) VALUES (?, ?, ?, ?, ?)',
  );
  const cache = createCache<readonly PolicyRecord[]>(cachedTenantsMax);

  const find = (tenantId: string, name: string, envName: string | null) =>
    toRecord<PolicyRecord>(latest.get(tenantId, name, envName ?? allEnvironments));

  return {
    apply(apply, event) {
      const { tenantId, name, envName } = apply;
      const work = () => {
        const before = find(tenantId, name, envName);
        const record: PolicyRecord = {
          ...apply,
          policyId: before?.policyId ?? apply.policyId,
          version: (before?.version ?? 0) + 1,
          unchanged: before !== undefined && contentOf(before) === contentOf(apply),
        };
        insert.run(tenantId, name, envName ?? allEnvironments, record.version, JSON.stringify(record));
        const { version, unchanged } = record;
        audit.append({ ...event, details: { ...event.details, version, unchanged } });
        return record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    of(tenantId) {
      const cached = cache.get(tenantId);
      if (cached) return cached;
      const policies = latestOfAll.all(tenantId).flatMap((row) => toRecord<PolicyRecord>(row) ?? []);
      cache.set(tenantId, policies);
      return policies;
    },

    byName: (tenantId, name, envName) => find(tenantId, name, envName) ?? find(tenantId, name, null),
  };
}

const contentOf = ({ description, rules, mode }: PolicyApply): string =>
  toCanonicalJson({ description, rules, mode });
