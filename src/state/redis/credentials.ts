import { after } from '../../util/maybe-promise.ts';
import type { MaybePromise } from '../port/page.ts';
import type { AuditEvent, CredentialUse, Reseal, SealedCredential } from '../store.ts';
import type { Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { createFollower } from './link/revisions.ts';
import { toRecord } from './records.ts';

export class RedisCredentials {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;
  readonly #follower;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
    this.#follower = createFollower('credentials', (it) => this.#read(it), names, connection);
  }

  async putCredential(credential: SealedCredential, event: AuditEvent): Promise<void> {
    await this.#commits.write(credential.tenantId, async (change) => {
      change.put(change.names.credentials, credential.name, JSON.stringify(credential));
      change.revise('credentials');
      change.audit(event);
    });
    this.#follower.forget(credential.tenantId);
  }

  credentialOf(tenantId: string, name: string): MaybePromise<SealedCredential | undefined> {
    return after(this.#follower.of(tenantId), (it) => it.get(name));
  }

  async resealCredential({ tenantId, name, from, to }: Reseal, event: AuditEvent): Promise<boolean> {
    const isMade = await this.#commits.write(tenantId, async (change) => {
      const text = await change.read(change.names.credentials, name);
      const standing = text === undefined ? undefined : toRecord<SealedCredential>(text);
      if (standing?.sealed !== from) return false;
      change.put(change.names.credentials, name, JSON.stringify({ ...standing, sealed: to }));
      change.revise('credentials');
      change.audit(event);
      return true;
    });
    this.#follower.forget(tenantId);
    return isMade;
  }

  async credentialUses(tenantId: string): Promise<ReadonlyMap<string, CredentialUse>> {
    const flat = (await this.#connection.call(
      'HGETALL',
      this.#names.of(tenantId).credentialUses,
    )) as string[];
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
  }

  async listCredentials(tenantId: string): Promise<readonly SealedCredential[]> {
    return [...(await this.#read(tenantId)).values()];
  }

  async removeCredential(tenantId: string, name: string, event: AuditEvent): Promise<boolean> {
    const isThere = await this.#commits.write(tenantId, async (change) => {
      if ((await change.read(change.names.credentials, name)) === undefined) return false;
      change.drop(change.names.credentials, name);
      change.revise('credentials');
      change.audit(event);
      return true;
    });
    this.#follower.forget(tenantId);
    return isThere;
  }

  saw(tenantId: string, revision: string): void {
    this.#follower.saw(tenantId, revision);
  }

  async #read(tenantId: string): Promise<ReadonlyMap<string, SealedCredential>> {
    const texts = (await this.#connection.call('HVALS', this.#names.of(tenantId).credentials)) as string[];
    const found = texts.flatMap((text) => toRecord<SealedCredential>(text) ?? []);
    return new Map(found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((it) => [it.name, it]));
  }
}
