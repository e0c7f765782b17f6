import { after } from '../../util/maybe-promise.ts';
import { checkRoom } from '../rules/credentials.ts';
import type { CredentialStore, SealedCredential } from '../store.ts';
import type { Link } from './link/link.ts';
import { readAll } from './records.ts';

export function createRedisCredentials({ connection, names, commits, revisions }: Link): CredentialStore {
  const all = (tenantId: string) => readAll<SealedCredential>(connection, names.of(tenantId).credentials);

  async function read(tenantId: string): Promise<ReadonlyMap<string, SealedCredential>> {
    const found = await all(tenantId);
    return new Map(found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((it) => [it.name, it]));
  }
  const credentialsOf = revisions.follow('credentials', read);

  return {
    putCredential: (credential, event) =>
      commits.write(credential.tenantId, async (change) => {
        // While the revision stands, so do the credentials that are read after it.
        await change.read(change.names.revisions, 'credentials');
        checkRoom(credential, await all(credential.tenantId));
        change.putRecord(change.names.credentials, credential.name, credential);
        change.revise('credentials');
        change.audit(event);
      }),

    credentialOf: (tenantId, name) => after(credentialsOf(tenantId), (it) => it.get(name)),

    resealCredential: ({ tenantId, name, from, to }, event) =>
      commits.write(tenantId, async (change) => {
        const { credentials } = change.names;
        const standing = await change.readRecord<SealedCredential>(credentials, name);
        if (standing?.sealed !== from) return false;
        change.putRecord(credentials, name, { ...standing, sealed: to });
        change.revise('credentials');
        change.audit(event);
        return true;
      }),

    async credentialUses(tenantId) {
      const flat = (await connection.call('HGETALL', names.of(tenantId).credentialUses)) as string[];
      const fields = new Map(
        flat.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(flat[i + 1])] as const] : [])),
      );
      const used = [...fields.keys()].filter((it) => it.startsWith('uses ')).map((it) => it.slice(5));
      return new Map(
        used.map((name) => [
          name,
          { uses: fields.get(`uses ${name}`) ?? 0, lastUsedAtMs: fields.get(`last ${name}`) ?? 0 },
        ]),
      );
    },

    listCredentials: async (tenantId) => [...(await read(tenantId)).values()],

    removeCredential: (tenantId, name, event) =>
      commits.write(tenantId, async (change) => {
        const { credentials } = change.names;
        if ((await change.read(credentials, name)) === undefined) return false;
        change.drop(credentials, name);
        change.revise('credentials');
        change.audit(event);
        return true;
      }),
  };
}
