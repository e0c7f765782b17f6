import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { checkRoom } from '../rules/credentials.ts';
import type { AuditEvent, CredentialStore, SealedCredential } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { recordOf, rowToRecord } from './sqlite.ts';

const cachedMax = 4_096;

/** Keeps sealed credentials. Nothing here can open them. */
export function createEmbeddedCredentials(disk: Disk): Omit<CredentialStore, 'credentialUses'> {
  const { db } = disk;
  const upsert = db.prepare(`
    INSERT INTO credentials (tenant_id, name, record) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET record = excluded.record
  `);
  const byName = db.prepare('SELECT record FROM credentials WHERE tenant_id = ? AND name = ?');
  const byTenant = db.prepare('SELECT record FROM credentials WHERE tenant_id = ? ORDER BY name');
  const remove = db.prepare('DELETE FROM credentials WHERE tenant_id = ? AND name = ?');
  const cache = createCache<SealedCredential>(cachedMax);
  const place = (tenantId: string, name: string): string => JSON.stringify([tenantId, name]);

  const all = (tenantId: string) => byTenant.all(tenantId).map(recordOf<SealedCredential>);
  const save = (credential: SealedCredential): boolean =>
    upsert.run(credential.tenantId, credential.name, JSON.stringify(credential)) > 0;
  const change = (tenantId: string, name: string, event: AuditEvent, work: () => boolean) =>
    writeAudited(disk, event, work, () => cache.delete(place(tenantId, name)));

  return {
    async putCredential(credential, event) {
      const { tenantId, name } = credential;
      await change(tenantId, name, event, () => {
        checkRoom(credential, all(tenantId));
        return save(credential);
      });
    },

    credentialOf: (tenantId, name) =>
      kept(cache, place(tenantId, name), () => rowToRecord<SealedCredential>(byName.get(tenantId, name))),

    listCredentials: async (tenantId) => all(tenantId),

    resealCredential: ({ tenantId, name, from, to }, event) =>
      change(tenantId, name, event, () => {
        const standing = rowToRecord<SealedCredential>(byName.get(tenantId, name));
        return standing?.sealed === from && save({ ...standing, sealed: to });
      }),

    removeCredential: (tenantId, name, event) =>
      change(tenantId, name, event, () => remove.run(tenantId, name) > 0),
  };
}
