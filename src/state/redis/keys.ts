import {
  checkNewKey,
  childrenMax,
  endedKeptMs,
  keyTaken,
  revokedKey,
  tooManyChildren,
} from '../rules/ephemeral-key.ts';
import type { AgentRecord, AuditEvent, KeyChange, KeyRecord, Page, Paged } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

/** The owner of a key's hash. */
interface KeyOwner {
  readonly tenantId: string;
  readonly keyId: string;
}

export const parseOwner = (text: unknown): KeyOwner | undefined => toRecord<KeyOwner>(text);

export class RedisKeys {
  readonly #connection: RedisConnection;
  readonly #names: Names;
  readonly #commits: Commits;

  constructor(connection: RedisConnection, names: Names, commits: Commits) {
    this.#connection = connection;
    this.#names = names;
    this.#commits = commits;
  }

  async addKey(key: KeyRecord, event: AuditEvent): Promise<void> {
    await this.#commits.write(key.tenantId, async (change) => {
      await this.#checkNew(change, key);
      await this.#claimHash(key);
      change.put(change.names.keys, key.keyId, JSON.stringify(key));
      const place = indexPlaceOf(key.createdAtMs, key.keyId);
      change.index(change.names.indexOf('keys'), place);
      this.#addEnd(change, key, place);
      change.seedRevision();
      change.audit(event);
    });
    if (key.type === 'ephemeral' && key.expiresAtMs !== null) {
      const leftMs = Math.max(0, key.expiresAtMs - key.createdAtMs) + endedKeptMs;
      await this.#connection.call('PEXPIRE', this.#names.keyHash(key.hash), leftMs);
    }
  }

  keyById(tenantId: string, keyId: string): Promise<KeyRecord | undefined> {
    return this.#readKey(tenantId, keyId);
  }

  async listKeys(tenantId: string, page: Page): Promise<Paged<KeyRecord>> {
    const own = this.#names.of(tenantId);
    const index = { key: own.indexOf('keys'), records: own.keys };
    return readPage(this.#connection, index, page, toRecord<KeyRecord>);
  }

  updateKey(
    tenantId: string,
    keyId: string,
    fields: KeyChange,
    event: AuditEvent,
  ): Promise<KeyRecord | undefined> {
    return this.#alter(tenantId, keyId, (key, change) => {
      change.audit(event);
      return { ...key, ...fields };
    });
  }

  revokeKey(tenantId: string, keyId: string, event: AuditEvent): Promise<KeyRecord | undefined> {
    return this.#alter(tenantId, keyId, (key, change) => {
      const revoked = revokedKey(key, event);
      if (revoked === key) return key;
      if (key.parentKeyId !== null) change.leave(change.names.childrenOf(key.parentKeyId), keyId);
      change.audit(event);
      return revoked;
    });
  }

  async #readKey(tenantId: string, keyId: string) {
    return toRecord<KeyRecord>(await this.#connection.call('HGET', this.#names.of(tenantId).keys, keyId));
  }

  /**
   * Makes the hash lead to the key. It stands before the record, on another node of a cluster perhaps; one whose record was never
   * written leads nowhere, and may be taken over.
   */
  async #claimHash({ keyId, tenantId, hash }: KeyRecord): Promise<void> {
    const name = this.#names.keyHash(hash);
    const own = JSON.stringify({ tenantId, keyId } satisfies KeyOwner);
    const standing = (await this.#connection.call('GET', name)) as string | null;
    if (standing === own) return;
    const owner = parseOwner(standing);
    const held = owner && (await this.#readKey(owner.tenantId, owner.keyId));
    if (
      held?.hash === hash ||
      (await this.#connection.run(scripts.takeOver, [name], [own, standing ?? ''])) !== 1
    )
      throw keyTaken();
  }

  async #checkNew(change: Change, key: KeyRecord): Promise<void> {
    const { keys, agents, childrenOf } = change.names;
    checkNewKey(key, {
      agent: toRecord<AgentRecord>(await change.read(agents, key.agentId)),
      standing: toRecord<KeyRecord>(await change.read(keys, key.keyId)),
      parent: key.parentKeyId === null ? undefined : toRecord(await change.read(keys, key.parentKeyId)),
    });
    if (key.parentKeyId === null) return;
    if (!(await change.hasRoom(childrenOf(key.parentKeyId), key.createdAtMs, childrenMax)))
      throw tooManyChildren();
  }

  #addEnd({ names: own, enter, endRecord }: Change, key: KeyRecord, place: string): void {
    const { keyId, parentKeyId, type, createdAtMs, expiresAtMs } = key;
    if (type !== 'ephemeral' || expiresAtMs === null) return;
    if (parentKeyId !== null)
      enter(own.childrenOf(parentKeyId), keyId, { fromMs: createdAtMs, untilMs: expiresAtMs });
    endRecord({
      key: own.keyEnds,
      index: own.indexOf('keys'),
      records: own.keys,
      place,
      endsAtMs: expiresAtMs,
      beforeMs: createdAtMs - endedKeptMs,
      most: 0,
    });
  }

  #alter(
    tenantId: string,
    keyId: string,
    work: (key: KeyRecord, change: Change) => KeyRecord,
  ): Promise<KeyRecord | undefined> {
    return this.#commits.write(tenantId, async (change) => {
      const standing = toRecord<KeyRecord>(await change.read(change.names.keys, keyId));
      if (!standing) return undefined;
      const key = work(standing, change);
      if (key === standing) return key;
      change.put(change.names.keys, keyId, JSON.stringify(key));
      change.revise('keys');
      return key;
    });
  }
}
