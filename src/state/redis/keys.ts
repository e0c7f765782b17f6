import {
  checkNewKey,
  childrenMax,
  endedKeptMs,
  keyTaken,
  revokedKey,
  tooManyChildren,
} from '../rules/ephemeral-key.ts';
import type { AgentRecord, KeyRecord, KeyStore } from '../store.ts';
import type { Change } from './link/commits.ts';
import type { Link } from './link/link.ts';
import { indexPlaceOf, readPage } from './link/pages.ts';
import { readRecord, toRecord } from './records.ts';
import { scripts } from './scripts/scripts.ts';

/** The owner of a key's hash. */
interface KeyOwner {
  readonly tenantId: string;
  readonly keyId: string;
}

export const parseOwner = (text: unknown): KeyOwner | undefined => toRecord<KeyOwner>(text);

export function createRedisKeys(link: Link): Omit<KeyStore, 'keyUsage'> {
  const { connection, names, commits } = link;

  const alter = (
    tenantId: string,
    keyId: string,
    work: (key: KeyRecord, change: Change) => KeyRecord,
  ): Promise<KeyRecord | undefined> =>
    commits.write(tenantId, async (change) => {
      const standing = await change.readRecord<KeyRecord>(change.names.keys, keyId);
      if (!standing) return undefined;
      const key = work(standing, change);
      if (key === standing) return key;
      change.putRecord(change.names.keys, keyId, key);
      change.revise('keys');
      return key;
    });

  return {
    async addKey(key, event) {
      await commits.write(key.tenantId, async (change) => {
        await checkNew(change, key);
        await claimHash(link, key);
        change.putRecord(change.names.keys, key.keyId, key);
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

    keyById: (tenantId, keyId) => find(link, tenantId, keyId),

    async listKeys(tenantId, page) {
      const { keys, indexOf } = names.of(tenantId);
      return readPage(connection, { key: indexOf('keys'), records: keys }, page, toRecord<KeyRecord>);
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

const find = ({ connection, names }: Link, tenantId: string, keyId: string) =>
  readRecord<KeyRecord>(connection, names.of(tenantId).keys, keyId);

/**
 * Makes the hash lead to the key. Throws CONFLICT where it leads to another one. This entry is written before
 * the record, perhaps on another node of a cluster. An entry whose record was never written leads nowhere,
 * and may be taken over.
 */
async function claimHash(link: Link, { keyId, tenantId, hash }: KeyRecord): Promise<void> {
  const { connection, names } = link;
  const name = names.keyHash(hash);
  const own = JSON.stringify({ tenantId, keyId } satisfies KeyOwner);
  const standing = (await connection.call('GET', name)) as string | null;
  if (standing === own) return;
  const owner = parseOwner(standing);
  const held = owner && (await find(link, owner.tenantId, owner.keyId));
  if (held?.hash === hash || (await connection.run(scripts.takeOver, [name], [own, standing ?? ''])) !== 1)
    throw keyTaken();
}

async function checkNew(change: Change, key: KeyRecord): Promise<void> {
  const { keys, agents, childrenOf } = change.names;
  checkNewKey(key, {
    agent: await change.readRecord<AgentRecord>(agents, key.agentId),
    standing: await change.readRecord<KeyRecord>(keys, key.keyId),
    parent: key.parentKeyId === null ? undefined : await change.readRecord(keys, key.parentKeyId),
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
