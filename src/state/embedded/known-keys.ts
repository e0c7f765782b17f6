import { timingSafeEqual } from 'node:crypto';
import { stateUnavailable } from '../../core/errors.ts';
import { kept } from '../../util/kept.ts';
import { type Cache, createCache } from '../cache.ts';
import { type Holder, identifyHolder, unknownKey } from '../rules/admission.ts';
import type { Identification, KeyRecord } from '../store.ts';
import type { Agents } from './agents.ts';
import { type Database, rowToRecord } from './sqlite.ts';
import type { Suspensions } from './suspensions.ts';

/** A key as the hot path needs it. What does not change from call to call is made once. */
interface KnownKey {
  holder: Holder;
  readonly hash: Buffer;
  /** The time at which the key was last found valid. */
  validAtMs: number;
}

const cachedMax = 32_768;
const hashBytes = 32;

/** Keeps keys by hash for every call. Whoever changes a key on the disk must call `forget`. */
export class KnownKeys {
  readonly #byId;
  readonly #byHash;
  readonly #agents: Pick<Agents, 'find'>;
  readonly #suspensions: Pick<Suspensions, 'find'>;
  readonly #known: Cache<KnownKey> = createCache(cachedMax);
  /** The keys with which ephemeral ones were made, by their ids. */
  readonly #parents: Cache<KeyRecord> = createCache(cachedMax);
  readonly #presented = Buffer.alloc(hashBytes);

  constructor(db: Database, agents: Pick<Agents, 'find'>, suspensions: Pick<Suspensions, 'find'>) {
    this.#byId = db.prepare('SELECT record FROM keys WHERE tenant_id = ? AND key_id = ?');
    this.#byHash = db.prepare('SELECT record FROM keys WHERE hash = ?');
    this.#agents = agents;
    this.#suspensions = suspensions;
  }

  /** Returns a key with its records as they stand now; undefined for an unknown hash. */
  find(keyHash: string): KnownKey | undefined {
    const known = this.#known.get(keyHash) ?? this.#load(keyHash);
    if (!known || !this.#isSame(keyHash, known)) return undefined;
    known.holder = this.#holderOf(known.holder.key, known.holder);
    return known;
  }

  identify(keyHash: string, nowMs: number): Identification {
    const known = this.find(keyHash);
    if (!known) return unknownKey;
    const found = identifyHolder(known.holder, nowMs);
    if (found.ok) known.validAtMs = nowMs;
    return found;
  }

  /**
   * Returns a key's last known state while its records are unreadable; undefined unless it was valid within
   * `withinMs`. Suspensions are always current.
   */
  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined {
    const known = this.#known.get(keyHash);
    if (!known || !this.#isSame(keyHash, known) || Math.abs(nowMs - known.validAtMs) > withinMs)
      return undefined;
    const isTenantSuspended = this.#isSuspended(known.holder.key);
    return identifyHolder({ ...known.holder, isTenantSuspended }, nowMs);
  }

  forget({ hash, keyId }: KeyRecord): void {
    this.#known.delete(hash);
    this.#parents.delete(keyId);
  }

  #load(keyHash: string): KnownKey | undefined {
    const key = rowToRecord<KeyRecord>(this.#byHash.get(keyHash));
    if (!key) return undefined;
    const holder = this.#holderOf(key, undefined);
    const known = { holder, hash: Buffer.from(key.hash, 'hex'), validAtMs: Number.NEGATIVE_INFINITY };
    this.#known.set(keyHash, known);
    return known;
  }

  /**
   * Tells whether the hash is that of the key. Only the holder of the pepper can make hashes, so the time of
   * the comparison tells nothing.
   */
  #isSame(keyHash: string, known: KnownKey): boolean {
    const isWhole = this.#presented.write(keyHash, 'hex') === hashBytes;
    return isWhole && timingSafeEqual(this.#presented, known.hash);
  }

  #isSuspended({ tenantId }: KeyRecord): boolean {
    return this.#suspensions.find(tenantId) !== undefined;
  }

  /**
   * Returns the records as they stand. The agent, the parent or the tenant may have changed since the last
   * call.
   */
  #holderOf(key: KeyRecord, before: Holder | undefined): Holder {
    const [agent, parent] = [this.#agents.find(key.agentId), this.#parentOf(key)];
    if (!agent) throw stateUnavailable(`The agent of the key ${key.keyId} is missing.`);
    const isTenantSuspended = this.#isSuspended(key);
    const stands =
      before?.agent === agent && before.parent === parent && before.isTenantSuspended === isTenantSuspended;
    return stands ? before : { key, parent, agent, isTenantSuspended };
  }

  #parentOf({ tenantId, parentKeyId }: KeyRecord): KeyRecord | undefined {
    if (parentKeyId === null) return undefined;
    return kept(this.#parents, parentKeyId, () =>
      rowToRecord<KeyRecord>(this.#byId.get(tenantId, parentKeyId)),
    );
  }
}
