import { timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import { createCache } from '../cache.ts';
import { type Holder, identifyHolder, invalidKey } from '../rules/admission.ts';
import { childrenMax, endedKeptMs, endedPerKey, tooManyChildren } from '../rules/ephemeral-key.ts';
import type { AuditEvent, Identification, KeyChange, KeyRecord, Page, Paged } from '../store.ts';
import type { Agents } from './agents.ts';
import type { Audit } from './audit.ts';
import { createRoom } from './bound.ts';
import type { GroupCommit } from './group-commit.ts';
import { createListing } from './listing.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';
import type { Suspensions } from './suspensions.ts';

export interface Keys {
  add(key: KeyRecord, audit: AuditEvent): Promise<void>;
  byId(tenantId: string, keyId: string): KeyRecord | undefined;
  /** Which of these are keys of the tenant. */
  among(tenantId: string, keyIds: readonly string[]): ReadonlySet<string>;
  list(tenantId: string, page: Page): Paged<KeyRecord>;
  update(
    tenantId: string,
    keyId: string,
    change: KeyChange,
    audit: AuditEvent,
  ): Promise<KeyRecord | undefined>;
  revoke(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;
  /** At once; the hot path of every call. */
  find(keyHash: string): KnownKey | undefined;
  identify(keyHash: string, nowMs: number): Identification;
  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined;
}

/** A key as the hot path wants it: what does not change from call to call is made once. */
export interface KnownKey {
  holder: Holder;
  readonly hash: Buffer;
  /** When it was last found valid. */
  validAtMs: number;
}

const cachedMax = 32_768;
const hashBytes = 32;

/** `onGone` is told of keys that have ended and are there no more. */
export function createEmbeddedKeys(
  db: Database,
  commits: GroupCommit,
  agents: Agents,
  suspensions: Pick<Suspensions, 'find'>,
  audit: Audit,
  onGone: (keyIds: readonly string[]) => void,
): Keys {
  const byId = db.prepare('SELECT record FROM keys WHERE tenant_id = ? AND key_id = ?');
  const among = db.prepare(
    'SELECT key_id FROM keys WHERE tenant_id = ? AND key_id IN (SELECT value FROM json_each(?))',
  );
  const byHash = db.prepare('SELECT record FROM keys WHERE hash = ?');
  const insert = db.prepare(
    'INSERT INTO keys (key_id, hash, tenant_id, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const update = db.prepare('UPDATE keys SET record = ? WHERE key_id = ?');
  const children = db.prepare(
    'SELECT count(*) AS held FROM keys WHERE parent_key_id = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?',
  );
  const removeEnded = db.prepare(`
    DELETE FROM keys WHERE key_id IN (
      SELECT key_id FROM keys WHERE tenant_id = ? AND type = 'ephemeral' AND expires_at_ms <= ? LIMIT ${endedPerKey}
    ) RETURNING record
  `);
  const list = createListing(db, {
    table: 'keys',
    order: ['created_at_ms', 'key_id'],
    toItem: recordOf<KeyRecord>,
  });
  const cache = createCache<KnownKey>(cachedMax);
  /** Keys with which ephemeral ones were made, by their ids. */
  const parents = createCache<KeyRecord>(cachedMax);
  const presented = Buffer.alloc(hashBytes);

  const load = (tenantId: string, keyId: string) => rowToRecord<KeyRecord>(byId.get(tenantId, keyId));

  function parentOf({ tenantId, parentKeyId }: KeyRecord): KeyRecord | undefined {
    if (parentKeyId === null) return undefined;
    const cached = parents.get(parentKeyId);
    if (cached) return cached;
    const parent = load(tenantId, parentKeyId);
    if (parent) parents.set(parentKeyId, parent);
    return parent;
  }

  const isTenantSuspended = (tenantId: string): boolean => suspensions.find(tenantId) !== undefined;

  /** The records as they stand: the agent, the parent or the tenant may have changed since the last call. */
  function holderOf(key: KeyRecord, before: Holder | undefined): Holder {
    const [agent, parent] = [agents.find(key.agentId), parentOf(key)];
    if (!agent) throw new GatewayError('STATE_UNAVAILABLE', `The agent of the key ${key.keyId} is missing.`);
    const isSuspended = isTenantSuspended(key.tenantId);
    const stands =
      before?.agent === agent && before.parent === parent && before.isTenantSuspended === isSuspended;
    return stands ? before : { key, parent, agent, isTenantSuspended: isSuspended };
  }

  /** The last known state of a key while its records cannot be read. It is in memory, and always current. */
  function withSuspension(holder: Holder): Holder {
    const isSuspended = isTenantSuspended(holder.key.tenantId);
    return holder.isTenantSuspended === isSuspended ? holder : { ...holder, isTenantSuspended: isSuspended };
  }

  /** The look-up is by a hash that only the holder of the pepper can make; the comparison tells nothing by its time. */
  function isSame(keyHash: string, known: KnownKey): boolean {
    return presented.write(keyHash, 'hex') === hashBytes && timingSafeEqual(presented, known.hash);
  }

  function know(keyHash: string): KnownKey | undefined {
    const key = rowToRecord<KeyRecord>(byHash.get(keyHash));
    if (!key) return undefined;
    const known = {
      holder: holderOf(key, undefined),
      hash: Buffer.from(key.hash, 'hex'),
      validAtMs: Number.NEGATIVE_INFINITY,
    };
    cache.set(keyHash, known);
    return known;
  }

  function find(keyHash: string): KnownKey | undefined {
    const known = cache.get(keyHash) ?? know(keyHash);
    if (!known || !isSame(keyHash, known)) return undefined;
    known.holder = holderOf(known.holder.key, known.holder);
    return known;
  }

  function forget(key: KeyRecord): void {
    cache.delete(key.hash);
    parents.delete(key.keyId);
  }

  const mayBear = createRoom(childrenMax, (keyId, nowMs) => Number(children.get(keyId, nowMs)?.['held']));

  function checkParent({ tenantId, parentKeyId, createdAtMs }: KeyRecord): void {
    if (parentKeyId === null) return;
    const parent = load(tenantId, parentKeyId);
    const hasExpired = parent?.expiresAtMs != null && createdAtMs >= parent.expiresAtMs;
    if (!parent || parent.revokedAtMs !== null || hasExpired)
      throw new GatewayError('NOT_FOUND', 'The key that this one is made with is not active in this tenant.');
    if (!mayBear(parentKeyId, createdAtMs)) throw tooManyChildren();
  }

  /** In the transaction that is running. */
  function takeEnded({ type, tenantId, createdAtMs }: KeyRecord): readonly KeyRecord[] {
    return type === 'ephemeral'
      ? removeEnded.all(tenantId, createdAtMs - endedKeptMs).map(recordOf<KeyRecord>)
      : [];
  }

  function forgetEnded(ended: readonly KeyRecord[]): void {
    for (const key of ended) forget(key);
    if (ended.length > 0) onGone(ended.map((it) => it.keyId));
  }

  /** Changes a key that stands, or leaves it as it is where `toChanged` answers the same record. */
  function change(
    tenantId: string,
    keyId: string,
    event: AuditEvent,
    toChanged: (key: KeyRecord) => KeyRecord,
  ): Promise<KeyRecord | undefined> {
    const work = () => {
      const standing = load(tenantId, keyId);
      const changed = standing && toChanged(standing);
      if (!changed || changed === standing) return standing;
      update.run(JSON.stringify(changed), keyId);
      audit.append(event);
      return changed;
    };
    return commits.write(work, (key) => key && forget(key));
  }

  return {
    byId: load,
    among: (tenantId, keyIds) =>
      new Set(among.all(tenantId, JSON.stringify(keyIds)).map((row) => String(row['key_id']))),
    list: (tenantId, page) => list([['tenant_id = ?', tenantId]], page),

    async add(key, event) {
      await commits.write(() => {
        if (agents.load(key.agentId)?.tenantId !== key.tenantId)
          throw new GatewayError('NOT_FOUND', 'The agent of the key is not known in this tenant.');
        checkParent(key);
        if (insert.run(key.keyId, key.hash, key.tenantId, JSON.stringify(key)) === 0)
          throw new GatewayError('CONFLICT', 'There is such a key already.');
        audit.append(event);
        return takeEnded(key);
      }, forgetEnded);
    },

    update: (tenantId, keyId, fields, event) =>
      change(tenantId, keyId, event, (key) => ({ ...key, ...fields })),

    revoke: (tenantId, keyId, event) =>
      change(tenantId, keyId, event, (key) =>
        key.revokedAtMs === null ? { ...key, revokedAtMs: event.atMs, revokedBy: event.operator } : key,
      ),

    find,

    identify(keyHash, nowMs) {
      const known = find(keyHash);
      if (!known) return notKnown;
      const found = identifyHolder(known.holder, nowMs);
      if (found.ok) known.validAtMs = nowMs;
      return found;
    },

    recall(keyHash, nowMs, withinMs) {
      const known = cache.get(keyHash);
      if (!known || !isSame(keyHash, known) || nowMs - known.validAtMs > withinMs) return undefined;
      return identifyHolder(withSuspension(known.holder), nowMs);
    },
  };
}

export const notKnown = invalidKey('The key is not known.');
