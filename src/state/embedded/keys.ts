import {
  checkNewKey,
  childrenMax,
  endedKeptMs,
  endedPerKey,
  keyTaken,
  revokedKey,
  tooManyChildren,
} from '../rules/ephemeral-key.ts';
import type { AuditEvent, KeyRecord, KeyStore } from '../store.ts';
import type { Agents } from './agents.ts';
import { createRoom } from './bound.ts';
import type { Disk } from './disk.ts';
import type { KnownKeys } from './known-keys.ts';
import { createListing, records } from './listing.ts';
import { type Database, recordOf, rowToRecord } from './sqlite.ts';

interface KeysOptions {
  readonly agents: Pick<Agents, 'load'>;
  readonly known: Pick<KnownKeys, 'forget'>;
  /** Receives the ids of ended keys that were removed. */
  readonly onGone: (keyIds: readonly string[]) => void;
}

export function createEmbeddedKeys({ db, commits, audit }: Disk, options: KeysOptions) {
  const { agents, known, onGone } = options;
  const table = createKeyTable(db);

  function checkNew(key: KeyRecord): void {
    const { tenantId, keyId, agentId, parentKeyId } = key;
    const parent = parentKeyId === null ? undefined : table.find(tenantId, parentKeyId);
    checkNewKey(key, { agent: agents.load(agentId), standing: table.find(tenantId, keyId), parent });
    if (parentKeyId !== null && !table.hasRoom(parentKeyId, key.createdAtMs)) throw tooManyChildren();
  }

  function forgetEnded(ended: readonly KeyRecord[]): void {
    for (const key of ended) known.forget(key);
    if (ended.length > 0) onGone(ended.map((it) => it.keyId));
  }

  /** Changes a stored key, or leaves it as it is where `toChanged` returns the same record. */
  function change(
    tenantId: string,
    keyId: string,
    event: AuditEvent,
    toChanged: (key: KeyRecord) => KeyRecord,
  ): Promise<KeyRecord | undefined> {
    const work = () => {
      const standing = table.find(tenantId, keyId);
      const changed = standing && toChanged(standing);
      if (!changed || changed === standing) return standing;
      table.save(changed);
      audit.append(event);
      return changed;
    };
    return commits.write(work, (key) => key && known.forget(key));
  }

  const store: Omit<KeyStore, 'keyUsage'> = {
    keyById: async (tenantId, keyId) => table.find(tenantId, keyId),
    listKeys: async (tenantId, page) => table.list([['tenant_id = ?', tenantId]], page),
    async addKey(key, event) {
      await commits.write(() => {
        checkNew(key);
        if (!table.add(key)) throw keyTaken();
        audit.append(event);
        return table.takeEnded(key);
      }, forgetEnded);
    },
    updateKey: (tenantId, keyId, fields, event) =>
      change(tenantId, keyId, event, (key) => ({ ...key, ...fields })),
    revokeKey: (tenantId, keyId, event) => change(tenantId, keyId, event, (key) => revokedKey(key, event)),
  };
  return {
    store,
    /** Returns which of these ids are keys of the tenant. */
    among: (tenantId: string, keyIds: readonly string[]) => table.among(tenantId, keyIds),
  };
}

function createKeyTable(db: Database) {
  const list = createListing(db, {
    table: 'keys',
    order: ['created_at_ms', 'key_id'],
    ...records<KeyRecord>(),
  });
  const children = db.prepare(
    'SELECT count(*) AS held FROM keys WHERE parent_key_id = ? AND revoked_at_ms IS NULL AND expires_at_ms > ?',
  );
  const byId = db.prepare('SELECT record FROM keys WHERE tenant_id = ? AND key_id = ?');
  const among = db.prepare(
    'SELECT key_id FROM keys WHERE tenant_id = ? AND key_id IN (SELECT value FROM json_each(?))',
  );
  const insert = db.prepare(
    'INSERT INTO keys (key_id, hash, tenant_id, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const update = db.prepare('UPDATE keys SET record = ? WHERE key_id = ?');
  const removeEnded = db.prepare(`
    DELETE FROM keys WHERE key_id IN (
      SELECT key_id FROM keys WHERE tenant_id = ? AND type = 'ephemeral' AND expires_at_ms <= ? LIMIT ${endedPerKey}
    ) RETURNING record
  `);

  return {
    list,
    /** Tells whether the parent may have one more child, and counts it. */
    hasRoom: createRoom(childrenMax, (keyId, nowMs) => Number(children.get(keyId, nowMs)?.['held'])),
    find: (tenantId: string, keyId: string) => rowToRecord<KeyRecord>(byId.get(tenantId, keyId)),
    among(tenantId: string, keyIds: readonly string[]): ReadonlySet<string> {
      const rows = among.all(tenantId, JSON.stringify(keyIds));
      return new Set(rows.map((row) => String(row['key_id'])));
    },
    /** Adds a key; returns false where its id or its hash is taken. */
    add: (key: KeyRecord): boolean => insert.run(key.keyId, key.hash, key.tenantId, JSON.stringify(key)) > 0,
    save: (key: KeyRecord) => update.run(JSON.stringify(key), key.keyId),
    /** Removes some ephemeral keys that ended long ago when another one is added, and returns them. */
    takeEnded({ type, tenantId, createdAtMs }: KeyRecord): readonly KeyRecord[] {
      if (type !== 'ephemeral') return [];
      return removeEnded.all(tenantId, createdAtMs - endedKeptMs).map(recordOf<KeyRecord>);
    },
  };
}
