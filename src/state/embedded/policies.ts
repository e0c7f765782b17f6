import { createCache } from '../cache.ts';
import {
  archived,
  isActive,
  nextVersion,
  versionsKept,
  versionsOn,
  withArchived,
  withVersion,
} from '../rules/policy-version.ts';
import type { AuditEvent, Page, Paged, PolicyApply, PolicyArchive, PolicyRecord } from '../store.ts';
import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

interface Policies {
  apply(apply: PolicyApply, audit: AuditEvent): Promise<PolicyRecord>;
  archive(archive: PolicyArchive, audit: AuditEvent): Promise<PolicyRecord | undefined>;
  /** At once, and the same array until a policy of the tenant changes: what is compiled of it can be kept beside it. */
  of(tenantId: string): readonly PolicyRecord[];
  byName(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined;
  versions(tenantId: string, name: string, envName: string | null, page: Page): Paged<PolicyRecord>;
}

const cachedTenantsMax = 2_048;
const allEnvironments = '';

export function createEmbeddedPolicies(db: Database, commits: GroupCommit, audit: Audit): Policies {
  const latest = db.prepare(
    'SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? ORDER BY version DESC LIMIT 1',
  );
  const latestOfAll = db.prepare(`
    SELECT record FROM policies AS policy WHERE tenant_id = ? AND version = (
      SELECT max(version) FROM policies
      WHERE tenant_id = policy.tenant_id AND name = policy.name AND env_name = policy.env_name
    ) ORDER BY name, env_name
  `);
  const before = db.prepare(`
    SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version < ?
    ORDER BY version DESC LIMIT ?
  `);
  const put = db.prepare(
    'INSERT OR REPLACE INTO policies (tenant_id, name, env_name, version, record) VALUES (?, ?, ?, ?, ?)',
  );
  const forget = db.prepare(
    'DELETE FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version <= ?',
  );
  const cache = createCache<readonly PolicyRecord[]>(cachedTenantsMax);

  /** Archived ones too. */
  const load = (tenantId: string): PolicyRecord[] => latestOfAll.all(tenantId).map(recordOf<PolicyRecord>);

  function find(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined {
    const found = rowToRecord<PolicyRecord>(latest.get(tenantId, name, envName ?? allEnvironments));
    return found && isActive(found) ? found : undefined;
  }

  function write(record: PolicyRecord): void {
    const { tenantId, name, envName, version } = record;
    put.run(tenantId, name, envName ?? allEnvironments, version, JSON.stringify(record));
  }

  function drop({ tenantId, name, envName, version }: PolicyRecord, upTo = version): void {
    forget.run(tenantId, name, envName ?? allEnvironments, upTo);
  }

  return {
    apply(apply, event) {
      const { tenantId } = apply;
      const work = () => {
        const record = nextVersion(apply, load(tenantId));
        write(record);
        drop(record, record.version - versionsKept);
        audit.append(withVersion(event, record));
        return record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    archive(archive, event) {
      const { tenantId } = archive;
      const work = () => {
        const done = archived(archive, load(tenantId));
        if (!done) return undefined;
        if (done.forgotten) drop(done.forgotten);
        write(done.record);
        audit.append(withArchived(event, done.record));
        return done.record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    of(tenantId) {
      const cached = cache.get(tenantId);
      if (cached) return cached;
      const policies = load(tenantId).filter(isActive);
      cache.set(tenantId, policies);
      return policies;
    },

    byName: (tenantId, name, envName) => find(tenantId, name, envName) ?? find(tenantId, name, null),

    versions(tenantId, name, envName, page) {
      const { before: from, most } = versionsOn(page);
      const rows = before.all(tenantId, name, envName ?? allEnvironments, from, most + 1);
      const items = rows.slice(0, most).map(recordOf<PolicyRecord>);
      return { items, nextCursor: rows.length > most ? String(items.at(-1)?.version) : null };
    },
  };
}
