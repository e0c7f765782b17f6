import {
  checkNewKey,
  childrenMax,
  endedKeptMs,
  keyTaken,
  revokedKey,
  tooManyChildren,
} from '../rules/ephemeral-key.ts';
import type { AgentRecord, KeyRecord, Store } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

type Keys = Pick<Store, 'addKey' | 'keyById' | 'listKeys' | 'updateKey' | 'revokeKey'>;

/** The owner of a key's hash. */
interface KeyOwner {
  readonly tenantId: string;
  readonly keyId: string;
}

export const parseOwner = (text: unknown): KeyOwner | undefined => toRecord<KeyOwner>(text);

export function createRedisKeys(connection: RedisConnection, names: Names, commits: Commits): Keys {
  const readKey = async (tenantId: string, keyId: string) =>
    toRecord<KeyRecord>(await connection.call('HGET', names.of(tenantId).keys, keyId));

  /**
   * Makes the hash lead to the key. It stands before the record, on another node of a cluster perhaps; one whose record was never
   * written leads nowhere, and may be taken over.
   */
  async function claimHash({ keyId, tenantId, hash }: KeyRecord): Promise<void> {
    const name = names.keyHash(hash);
    const own = JSON.stringify({ tenantId, keyId } satisfies KeyOwner);
    const standing = (await connection.call('GET', name)) as string | null;
    if (standing === own) return;
    const owner = parseOwner(standing);
    const held = owner && (await readKey(owner.tenantId, owner.keyId));
    if (held?.hash === hash || (await connection.run(scripts.takeOver, [name], [own, standing ?? ''])) !== 1)
      throw keyTaken();
  }

  async function checkNew(change: Change, key: KeyRecord): Promise<void> {
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

  function addEnd({ names: own, enter, endRecord }: Change, key: KeyRecord, place: string): void {
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

  const alter = (
    tenantId: string,
    keyId: string,
    work: (key: KeyRecord, change: Change) => KeyRecord,
  ): Promise<KeyRecord | undefined> =>
    commits.write(tenantId, async (change) => {
      const standing = toRecord<KeyRecord>(await change.read(change.names.keys, keyId));
      if (!standing) return undefined;
      const key = work(standing, change);
      if (key === standing) return key;
      change.put(change.names.keys, keyId, JSON.stringify(key));
      change.revise('keys');
      return key;
    });

  return {
    async addKey(key, event) {
      await commits.write(key.tenantId, async (change) => {
        await checkNew(change, key);
        await claimHash(key);
        change.put(change.names.keys, key.keyId, JSON.stringify(key));
        const place = indexPlaceOf(key.createdAtMs, key.keyId);
        change.index(change.names.indexOf('keys'), place);
        addEnd(change, key, place);
        change.seedRevision();
        change.audit(event);
      });
      if (key.type === 'ephemeral' && key.expiresAtMs !== null) {
        const leftMs = Math.max(0, key.expiresAtMs - key.createdAtMs) + endedKeptMs;
        await connection.call('PEXPIRE', names.keyHash(key.hash), leftMs);
      }
    },
    keyById: readKey,
    async listKeys(tenantId, page) {
      const own = names.of(tenantId);
      const index = { key: own.indexOf('keys'), records: own.keys };
      return readPage(connection, index, page, toRecord<KeyRecord>);
    },
    updateKey: (tenantId, keyId, fields, event) =>
      alter(tenantId, keyId, (key, change) => {
        change.audit(event);
        return { ...key, ...fields };
      }),
    revokeKey: (tenantId, keyId, event) =>
      alter(tenantId, keyId, (key, change) => {
        const revoked = revokedKey(key, event);
        if (revoked === key) return key;
        if (key.parentKeyId !== null) change.leave(change.names.childrenOf(key.parentKeyId), keyId);
        change.audit(event);
        return revoked;
      }),
  };
}
