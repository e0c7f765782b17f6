import { GatewayError } from '../../core/errors.ts';
import { childrenMax, endedKeptMs, tooManyChildren } from '../rules/ephemeral-key.ts';
import type { AgentRecord, KeyRecord, Store } from '../store.ts';
import type { Change, Commits } from './link/commits.ts';
import type { RedisConnection } from './link/connection.ts';
import type { Names } from './link/names.ts';
import { beginning, idOfPlace, indexPlaceOf, parseCursor, readPage } from './link/pages.ts';
import { readMany, toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

type Keys = Pick<Store, 'addKey' | 'keyById' | 'listKeys' | 'updateKey' | 'revokeKey'>;

/** The owner of a key's hash. */
export interface KeyOwner {
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
      throw taken();
  }

  async function checkNew(change: Change, key: KeyRecord): Promise<void> {
    const { keys, agents } = change.names;
    const agent = toRecord<AgentRecord>(await change.read(agents, key.agentId));
    if (!agent) throw new GatewayError('NOT_FOUND', 'The agent of the key is not known in this tenant.');
    if ((await change.read(keys, key.keyId)) !== undefined) throw taken();
    if (key.parentKeyId === null) return;
    const parent = toRecord<KeyRecord>(await change.read(keys, key.parentKeyId));
    const isActive =
      parent &&
      parent.revokedAtMs === null &&
      (parent.expiresAtMs === null || parent.expiresAtMs > key.createdAtMs);
    if (!isActive) throw new GatewayError('NOT_FOUND', 'The key that this one is made with is not active.');
    if (!(await change.hasRoom(change.names.childrenOf(key.parentKeyId), key.createdAtMs, childrenMax)))
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
      const index = {
        key: own.indexOf('keys'),
        read: (places: readonly string[]) => readMany(connection, own.keys, places.map(idOfPlace)),
        from: beginning(parseCursor(page.cursor)),
      };
      return readPage(connection, index, page, toRecord<KeyRecord>);
    },
    updateKey: (tenantId, keyId, fields, event) =>
      alter(tenantId, keyId, (key, change) => {
        change.audit(event);
        return { ...key, ...fields };
      }),
    revokeKey: (tenantId, keyId, event) =>
      alter(tenantId, keyId, (key, change) => {
        if (key.revokedAtMs !== null) return key;
        if (key.parentKeyId !== null) change.leave(change.names.childrenOf(key.parentKeyId), keyId);
        change.audit(event);
        return { ...key, revokedAtMs: event.atMs, revokedBy: event.operator };
      }),
  };
}

const taken = () => new GatewayError('CONFLICT', 'There is such a key already.');
