import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { cutPage } from '../rules/cursor.ts';
import {
  archived,
  isActive,
  nextVersion,
  versionBytesMax,
  versionsKept,
  versionsOn,
  withArchived,
  withVersion,
} from '../rules/policy-version.ts';
import type { PolicyRecord, PolicyStore } from '../store.ts';
import type { Disk } from './disk.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

const cachedTenantsMax = 2_048;
const allEnvironments = '';

function createPolicyTable(db: Database) {
  const latest = db.prepare(
    'SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? ORDER BY version DESC LIMIT 1',
  );
  const latestOfAll = db.prepare(`
    SELECT record FROM policies AS policy WHERE tenant_id = ? AND version = (
      SELECT max(version) FROM policies
      WHERE tenant_id = policy.tenant_id AND name = policy.name AND env_name = policy.env_name
    ) ORDER BY name, env_name
  `);
  const older = db.prepare(`
    SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version < ?
    ORDER BY version DESC LIMIT ?
  `);
  const put = db.prepare(
    'INSERT OR REPLACE INTO policies (tenant_id, name, env_name, version, record) VALUES (?, ?, ?, ?, ?)',
  );
  const forget = db.prepare(
    'DELETE FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version <= ?',
  );

  const shedOld = db.prepare(`
    DELETE FROM policies WHERE rowid IN (
      SELECT id FROM (
        SELECT rowid AS id, sum(octet_length(record)) OVER (ORDER BY rowid DESC) - octet_length(record) AS later
        FROM policies WHERE tenant_id = ?
      ) WHERE later >= ?
    ) AND EXISTS (
      SELECT 1 FROM policies AS later
      WHERE later.tenant_id = policies.tenant_id AND later.name = policies.name
        AND later.env_name = policies.env_name AND later.version > policies.version
    )
  `);

  /** Returns the latest version of each policy, archived ones too. */
  const load = (tenantId: string): PolicyRecord[] => latestOfAll.all(tenantId).map(recordOf<PolicyRecord>);

  function find(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined {
    const found = rowToRecord<PolicyRecord>(latest.get(tenantId, name, envName ?? allEnvironments));
    return found && isActive(found) ? found : undefined;
  }

  function write(record: PolicyRecord): void {
    const { tenantId, name, envName, version } = record;
    put.run(tenantId, name, envName ?? allEnvironments, version, JSON.stringify(record));
    shedOld.run(tenantId, versionBytesMax);
  }

  function drop({ tenantId, name, envName, version }: PolicyRecord, upTo = version): void {
    forget.run(tenantId, name, envName ?? allEnvironments, upTo);
  }

  /** Returns at most `most` versions before `version`, newest first. */
  const before = (tenantId: string, name: string, envName: string | null, version: number, most: number) =>
    older.all(tenantId, name, envName ?? allEnvironments, version, most).map(recordOf<PolicyRecord>);

  return { load, find, before, write, drop };
}

export function createEmbeddedPolicies({ db, commits, audit }: Disk): PolicyStore {
  const table = createPolicyTable(db);
  const cache = createCache<readonly PolicyRecord[]>(cachedTenantsMax);

  return {
    applyPolicy(apply, event) {
      const { tenantId } = apply;
      const work = () => {
        const record = nextVersion(apply, table.load(tenantId));
        table.write(record);
        table.drop(record, record.version - versionsKept);
        audit.append(withVersion(event, record));
        return record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    archivePolicy(archive, event) {
      const { tenantId } = archive;
      const work = () => {
        const done = archived(archive, table.load(tenantId));
        if (!done) return undefined;
        for (const it of done.forgotten) table.drop(it);
        table.write(done.record);
        audit.append(withArchived(event, done.record));
        return done.record;
      };
      return commits.write(work, () => cache.delete(tenantId));
    },

    policiesOf: (tenantId) => kept(cache, tenantId, () => table.load(tenantId).filter(isActive)),

    policyByName: async (tenantId, name, envName) =>
      table.find(tenantId, name, envName) ?? table.find(tenantId, name, null),

    async policyVersions(tenantId, name, envName, page) {
      const { before: from, most } = versionsOn(page);
      const found = table.before(tenantId, name, envName, from, most + 1);
      return cutPage(found, most, (last) => String(last.version));
    },
  };
}
