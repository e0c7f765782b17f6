import { createCache } from '../cache.ts';
import { nextVersion, withVersion } from '../policy-version.ts';
import type { AuditEvent, PolicyApply, PolicyRecord } from '../store.ts';
import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, recordOf, toRecord } from './sqlite.ts';

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

  const load = (tenantId: string): readonly PolicyRecord[] =>
    latestOfAll.all(tenantId).map(recordOf<PolicyRecord>);

  const find = (tenantId: string, name: string, envName: string | null) =>
    toRecord<PolicyRecord>(latest.get(tenantId, name, envName ?? allEnvironments));

  return {
    apply(apply, event) {
      const { tenantId, name, envName } = apply;
      const work = () => {
        const record = nextVersion(apply, load(tenantId));
        insert.run(tenantId, name, envName ?? allEnvironments, record.version, JSON.stringify(record));
        audit.append(withVersion(event, record));
        return record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    of(tenantId) {
      const cached = cache.get(tenantId);
      if (cached) return cached;
      const policies = load(tenantId);
      cache.set(tenantId, policies);
      return policies;
    },

    byName: (tenantId, name, envName) => find(tenantId, name, envName) ?? find(tenantId, name, null),
  };
}
