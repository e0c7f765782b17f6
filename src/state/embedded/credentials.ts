import { createCache } from '../cache.ts';
import type { AuditEvent, Reseal, SealedCredential } from '../store.ts';
import type { Audit } from './audit.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

/** Sealed credentials: nothing here can open them. */
interface Credentials {
  put(credential: SealedCredential, audit: AuditEvent): Promise<void>;
  find(tenantId: string, name: string): SealedCredential | undefined;
  list(tenantId: string): readonly SealedCredential[];
  reseal(reseal: Reseal, audit: AuditEvent): Promise<boolean>;
  remove(tenantId: string, name: string, audit: AuditEvent): Promise<boolean>;
}

const cachedMax = 4_096;

export function createEmbeddedCredentials(db: Database, commits: GroupCommit, audit: Audit): Credentials {
  const upsert = db.prepare(`
    INSERT INTO credentials (tenant_id, name, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET record = excluded.record
  `);
  const byName = db.prepare('SELECT record FROM credentials WHERE tenant_id = ? AND name = ?');
  const byTenant = db.prepare('SELECT record FROM credentials WHERE tenant_id = ? ORDER BY name');
  const remove = db.prepare('DELETE FROM credentials WHERE tenant_id = ? AND name = ?');
  const cache = createCache<SealedCredential>(cachedMax);
  const place = (tenantId: string, name: string): string => JSON.stringify([tenantId, name]);

  return {
    async put(credential, event) {
      const { tenantId, name } = credential;
      const work = () => {
        upsert.run(tenantId, name, JSON.stringify(credential));
        audit.append(event);
      };
      await commits.write(work, () => cache.delete(place(tenantId, name)));
    },

    find(tenantId, name) {
      const cached = cache.get(place(tenantId, name));
      if (cached) return cached;
      const found = rowToRecord<SealedCredential>(byName.get(tenantId, name));
      if (found) cache.set(place(tenantId, name), found);
      return found;
    },

    list: (tenantId) => byTenant.all(tenantId).map(recordOf<SealedCredential>),

    reseal({ tenantId, name, from, to }, event) {
      const work = () => {
        const standing = rowToRecord<SealedCredential>(byName.get(tenantId, name));
        if (standing?.sealed !== from) return false;
        upsert.run(tenantId, name, JSON.stringify({ ...standing, sealed: to }));
        audit.append(event);
        return true;
      };
      return commits.write(work, () => cache.delete(place(tenantId, name)));
    },

    remove(tenantId, name, event) {
      const work = () => {
        const wasThere = remove.run(tenantId, name) > 0;
        if (wasThere) audit.append(event);
        return wasThere;
      };
      return commits.write(work, () => cache.delete(place(tenantId, name)));
    },
  };
}
