import { kept } from '../../util/kept.ts';
import { createCache } from '../cache.ts';
import { checkRoom } from '../rules/credentials.ts';
import type { AuditEvent, CredentialStore, SealedCredential } from '../store.ts';
import { type Disk, writeAudited } from './disk.ts';
import { createRecordTable } from './record-table.ts';

const cachedMax = 4_096;

/** Keeps sealed credentials. Nothing here can open them. */
export function createEmbeddedCredentials(disk: Disk): Omit<CredentialStore, 'credentialUses'> {
  const table = createRecordTable<SealedCredential>(disk.db, 'credentials', ['tenant_id', 'name']);
  const cache = createCache<SealedCredential>(cachedMax);
  const place = (tenantId: string, name: string): string => JSON.stringify([tenantId, name]);

  const change = (tenantId: string, name: string, event: AuditEvent, work: () => boolean) =>
    writeAudited(disk, event, work, () => cache.delete(place(tenantId, name)));

  return {
    async putCredential(credential, event) {
      const { tenantId, name } = credential;
      await change(tenantId, name, event, () => {
        checkRoom(credential, table.list(tenantId));
        table.put(credential, tenantId, name);
        return true;
      });
    },

    credentialOf: (tenantId, name) => kept(cache, place(tenantId, name), () => table.find(tenantId, name)),

    listCredentials: async (tenantId) => table.list(tenantId),

    resealCredential: ({ tenantId, name, from, to }, event) =>
      change(tenantId, name, event, () => {
        const reseal = (it: SealedCredential) => (it.sealed === from ? { ...it, sealed: to } : undefined);
        return table.alter(reseal, tenantId, name) !== undefined;
      }),

    removeCredential: (tenantId, name, event) =>
      change(tenantId, name, event, () => table.remove(tenantId, name)),
  };
}
