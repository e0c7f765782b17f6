import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import type { CredentialStore, SealedCredential } from '../store.ts';
import type { Disk } from './disk.ts';
import { recordOf, rowToRecord } from './sqlite.ts';

const cachedMax = 4_096;

/** Sealed credentials: nothing here can open them. */
export function createEmbeddedCredentials({
  db,
  commits,
  audit,
}: Disk): Omit<CredentialStore, 'credentialUses'> {
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
    async putCredential(credential, event) {
      const { tenantId, name } = credential;
      const work = () => {
        upsert.run(tenantId, name, JSON.stringify(credential));
        audit.append(event);
      };
      await commits.write(work, () => cache.delete(place(tenantId, name)));
    },

    credentialOf: (tenantId, name) =>
      kept(cache, place(tenantId, name), () => rowToRecord<SealedCredential>(byName.get(tenantId, name))),

    listCredentials: async (tenantId) => byTenant.all(tenantId).map(recordOf<SealedCredential>),

    resealCredential({ tenantId, name, from, to }, event) {
      const work = () => {
        const standing = rowToRecord<SealedCredential>(byName.get(tenantId, name));
        if (standing?.sealed !== from) return false;
        upsert.run(tenantId, name, JSON.stringify({ ...standing, sealed: to }));
        audit.append(event);
        return true;
      };
      return commits.write(work, () => cache.delete(place(tenantId, name)));
    },

    removeCredential(tenantId, name, event) {
      const work = () => {
        const wasThere = remove.run(tenantId, name) > 0;
        if (wasThere) audit.append(event);
        return wasThere;
      };
      return commits.write(work, () => cache.delete(place(tenantId, name)));
    },
  };
}
