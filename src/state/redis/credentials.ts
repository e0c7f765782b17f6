import { after } from '../../util/maybe-promise.ts';
import type { SealedCredential, Store } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { toRecord } from './records.ts';

interface Credentials
  extends Pick<
    Store,
    | 'putCredential'
    | 'credentialOf'
    | 'listCredentials'
    | 'resealCredential'
    | 'credentialUses'
    | 'removeCredential'
  > {
  saw(tenantId: string, revision: string): void;
}

export function createRedisCredentials(
  connection: RedisConnection,
  names: Names,
  commits: Commits,
): Credentials {
  const read = async (tenantId: string): Promise<ReadonlyMap<string, SealedCredential>> => {
    const texts = (await connection.call('HVALS', names.of(tenantId).credentials)) as string[];
    const found = texts.flatMap((text) => toRecord<SealedCredential>(text) ?? []);
    return new Map(found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((it) => [it.name, it]));
  };
  const follower = createFollower('credentials', read, (it) => names.of(it).revisions, connection);

  return {
    async putCredential(credential, event) {
      await commits.write(credential.tenantId, async (change) => {
        change.put(change.names.credentials, credential.name, JSON.stringify(credential));
        change.revise('credentials');
        change.audit(event);
      });
      follower.forget(credential.tenantId);
    },
    credentialOf(tenantId, name) {
      return after(follower.of(tenantId), (it) => it.get(name));
    },
    async resealCredential({ tenantId, name, from, to }, event) {
      const isMade = await commits.write(tenantId, async (change) => {
        const text = await change.read(change.names.credentials, name);
        const standing = text === undefined ? undefined : toRecord<SealedCredential>(text);
        if (standing?.sealed !== from) return false;
        change.put(change.names.credentials, name, JSON.stringify({ ...standing, sealed: to }));
        change.revise('credentials');
        change.audit(event);
        return true;
      });
      follower.forget(tenantId);
      return isMade;
    },
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
    async removeCredential(tenantId, name, event) {
      const isThere = await commits.write(tenantId, async (change) => {
        if ((await change.read(change.names.credentials, name)) === undefined) return false;
        change.drop(change.names.credentials, name);
        change.revise('credentials');
        change.audit(event);
        return true;
      });
      follower.forget(tenantId);
      return isThere;
    },
    saw: follower.saw,
  };
}
