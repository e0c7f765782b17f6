import { timingSafeEqual } from 'node:crypto';
import type { Identity } from '../../call.ts';
import { GatewayError } from '../../errors.ts';
import type { AgentRecord, AuditEvent, Identification, KeyRecord } from '../store.ts';
import type { Agents } from './agents.ts';
import type { Audit } from './audit.ts';
import { createCache } from './cache.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Database, toRecord } from './sqlite.ts';

export interface Keys {
  add(key: KeyRecord, audit: AuditEvent): Promise<void>;
  byId(tenantId: string, keyId: string): KeyRecord | undefined;
  revoke(tenantId: string, keyId: string, audit: AuditEvent): Promise<KeyRecord | undefined>;
  /** At once; the hot path of every call. */
  identify(keyHash: string, nowMs: number): Identification;
}

/** A key as the hot path wants it: what does not change from call to call is made once. */
interface KnownKey {
  readonly key: KeyRecord;
  readonly hash: Buffer;
  /** The agent that `identity` was made of. */
  agent: AgentRecord;
  identity: Identity;
}

const cachedMax = 32_768;
const hashBytes = 32;

export function createKeys(db: Database, commits: GroupCommit, agents: Agents, audit: Audit): Keys {
  const byId = db.prepare('SELECT record FROM keys WHERE tenant_id = ? AND key_id = ?');
  const byHash = db.prepare('SELECT record FROM keys WHERE hash = ?');
  const insert = db.prepare(
    'INSERT INTO keys (key_id, hash, tenant_id, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const update = db.prepare('UPDATE keys SET record = ? WHERE key_id = ?');
  const cache = createCache<KnownKey>(cachedMax);
  const presented = Buffer.alloc(hashBytes);

  function know(key: KeyRecord): KnownKey {
    const agent = agents.find(key.agentId);
    if (!agent) throw new GatewayError('STATE_UNAVAILABLE', `The agent of the key ${key.keyId} is missing.`);
    return { key, hash: Buffer.from(key.hash, 'hex'), agent, identity: toIdentity(key, agent) };
  }

  function find(keyHash: string): KnownKey | undefined {
    const cached = cache.get(keyHash);
    if (cached) return cached;
    const key = toRecord<KeyRecord>(byHash.get(keyHash));
    if (!key) return undefined;
    const known = know(key);
    cache.set(keyHash, known);
    return known;
  }

  /** The look-up is by a hash that only the holder of the pepper can make; the comparison tells nothing by its time. */
  function isSame(keyHash: string, known: KnownKey): boolean {
    return presented.write(keyHash, 'hex') === hashBytes && timingSafeEqual(presented, known.hash);
  }

  return {
    byId: (tenantId, keyId) => toRecord<KeyRecord>(byId.get(tenantId, keyId)),

    async add(key, event) {
      await commits.write(() => {
        if (agents.load(key.agentId)?.tenantId !== key.tenantId) {
          throw new GatewayError('NOT_FOUND', 'The agent of the key is not known in this tenant.');
        }
        if (insert.run(key.keyId, key.hash, key.tenantId, JSON.stringify(key)) === 0) {
          throw new GatewayError('CONFLICT', 'There is such a key already.');
        }
        audit.append(event);
      });
    },

    revoke(tenantId, keyId, event) {
      const work = () => {
        const standing = toRecord<KeyRecord>(byId.get(tenantId, keyId));
        if (!standing || standing.revokedAtMs !== null) return standing;
        const revoked: KeyRecord = { ...standing, revokedAtMs: event.atMs };
        update.run(JSON.stringify(revoked), keyId);
        audit.append(event);
        return revoked;
      };
      return commits.write(work, (key) => key && cache.delete(key.hash));
    },

    identify(keyHash, nowMs) {
      const known = find(keyHash);
      if (!known || !isSame(keyHash, known)) return notKnown;
      const { key } = known;
      if (key.revokedAtMs !== null) return revoked;
      if (key.expiresAtMs !== null && nowMs >= key.expiresAtMs) return expired;
      const agent = agents.find(key.agentId) ?? known.agent;
      if (agent !== known.agent) {
        known.agent = agent;
        known.identity = toIdentity(key, agent);
      }
      return { ok: true, key, identity: known.identity, agentStatus: agent.status };
    },
  };
}

const refusal = (detail: string) => ({ ok: false, code: 'INVALID_KEY', detail }) as const;
const notKnown = refusal('The key is not known.');
const revoked = refusal('The key is revoked.');
const expired = refusal('The key has expired.');

function toIdentity(key: KeyRecord, agent: AgentRecord): Identity {
  return {
    keyId: key.keyId,
    keyPrefix: key.prefix,
    tenantId: key.tenantId,
    envName: key.envName,
    agentId: agent.agentId,
    agentName: agent.name,
    permissions: new Set(key.permissions),
  };
}
