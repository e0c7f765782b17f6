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

const cachedTenantsMax = 2_048;
const allEnvironments = '';

export class Policies {
  readonly #commits: GroupCommit;
  readonly #audit: Audit;
  readonly #latest;
  readonly #latestOfAll;
  readonly #before;
  readonly #put;
  readonly #forget;
  readonly #cache = createCache<readonly PolicyRecord[]>(cachedTenantsMax);

  constructor(db: Database, commits: GroupCommit, audit: Audit) {
    this.#commits = commits;
    this.#audit = audit;
    this.#latest = db.prepare(
      'SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? ORDER BY version DESC LIMIT 1',
    );
    this.#latestOfAll = db.prepare(`
      SELECT record FROM policies AS policy WHERE tenant_id = ? AND version = (
        SELECT max(version) FROM policies
        WHERE tenant_id = policy.tenant_id AND name = policy.name AND env_name = policy.env_name
      ) ORDER BY name, env_name
    `);
    this.#before = db.prepare(`
      SELECT record FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version < ?
      ORDER BY version DESC LIMIT ?
    `);
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO policies (tenant_id, name, env_name, version, record) VALUES (?, ?, ?, ?, ?)',
    );
    this.#forget = db.prepare(
      'DELETE FROM policies WHERE tenant_id = ? AND name = ? AND env_name = ? AND version <= ?',
    );
  }

  apply(apply: PolicyApply, event: AuditEvent): Promise<PolicyRecord> {
    const { tenantId } = apply;
    const work = () => {
      const record = nextVersion(apply, this.#load(tenantId));
      this.#write(record);
      this.#drop(record, record.version - versionsKept);
      this.#audit.append(withVersion(event, record));
      return record;
    };
    return this.#commits.write(work, () => this.#cache.delete(tenantId));
  }

  archive(archive: PolicyArchive, event: AuditEvent): Promise<PolicyRecord | undefined> {
    const { tenantId } = archive;
    const work = () => {
      const done = archived(archive, this.#load(tenantId));
      if (!done) return undefined;
      if (done.forgotten) this.#drop(done.forgotten);
      this.#write(done.record);
      this.#audit.append(withArchived(event, done.record));
      return done.record;
    };
    return this.#commits.write(work, () => this.#cache.delete(tenantId));
  }

  /** At once, and the same array until a policy of the tenant changes: what is compiled of it can be kept beside it. */
  of(tenantId: string): readonly PolicyRecord[] {
    const cached = this.#cache.get(tenantId);
    if (cached) return cached;
    const policies = this.#load(tenantId).filter(isActive);
    this.#cache.set(tenantId, policies);
    return policies;
  }

  byName(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined {
    return this.#find(tenantId, name, envName) ?? this.#find(tenantId, name, null);
  }

  versions(tenantId: string, name: string, envName: string | null, page: Page): Paged<PolicyRecord> {
    const { before: from, most } = versionsOn(page);
    const rows = this.#before.all(tenantId, name, envName ?? allEnvironments, from, most + 1);
    const items = rows.slice(0, most).map(recordOf<PolicyRecord>);
    return { items, nextCursor: rows.length > most ? String(items.at(-1)?.version) : null };
  }

  /** Archived ones too. */
  #load(tenantId: string): PolicyRecord[] {
    return this.#latestOfAll.all(tenantId).map(recordOf<PolicyRecord>);
  }

  #find(tenantId: string, name: string, envName: string | null): PolicyRecord | undefined {
    const found = rowToRecord<PolicyRecord>(this.#latest.get(tenantId, name, envName ?? allEnvironments));
    return found && isActive(found) ? found : undefined;
  }

  #write(record: PolicyRecord): void {
    const { tenantId, name, envName, version } = record;
    this.#put.run(tenantId, name, envName ?? allEnvironments, version, JSON.stringify(record));
  }

  #drop({ tenantId, name, envName, version }: PolicyRecord, upTo = version): void {
    this.#forget.run(tenantId, name, envName ?? allEnvironments, upTo);
  }
}
