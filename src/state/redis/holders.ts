import { timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../core/errors.ts';
import { createCache } from '../cache.ts';
import { examine, type Holder, identifyHolder, unknownKey } from '../rules/admission.ts';
import type { Admission, AdmitRequest, AgentRecord, Identification, KeyRecord } from '../store.ts';
import type { SightingsSeen } from './history.ts';
import { parseOwner } from './keys.ts';
import { type Asking, asking, quotaRefusal, type RedisAnswer, toAdmission, toAsking } from './link/asking.ts';
import { createFlights } from './link/flights.ts';
import type { Link } from './link/link.ts';
import type { TenantNames } from './link/names.ts';
import { toRecord } from './records.ts';

/*
 * Admits calls, on the hot path. A node remembers the records behind a key, with the tenant's revision that
 * they were read at, and judges by them. One script then takes from the numbers if that is still the
 * revision. If it is not, the script answers the fresh records, and the node judges again. So no node is ever
 * behind. A call costs one round trip, which calls of the same turn share. The first call of a key costs two
 * more round trips.
 */

interface HoldersOptions {
  /**
   * The clock that counts. `caller`: the time of the request; `server`: that of Redis, which all nodes share.
   */
  readonly clock: 'server' | 'caller';
  readonly sightings: SightingsSeen;
  readonly agentById: (agentId: string) => Promise<AgentRecord | undefined>;
}

interface Known {
  readonly tenantId: string;
  readonly keyId: string;
  /** The names of the tenant's keys. They are made once, since every call needs them. */
  readonly own: TenantNames;
  /** The revision of the records; '' where none were read yet. */
  revision: string;
  holder: Holder | undefined;
  /** Other agents of this tenant that calls have named, at the same revision. */
  readonly named: Map<string, AgentRecord>;
  seenAtMs: number;
}

const knownMax = 32_768;
const namedMax = 256;
/**
 * The limit of reads of the records for one call. Where they change more often meanwhile, the call is not
 * judged.
 */
const readsMax = 5;

const hashShape = /^[0-9a-f]{64}$/;
const isSame = (a: string, b: string): boolean =>
  hashShape.test(b) && timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'));

const notKnown = { ...unknownKey, identity: undefined };

export class Holders {
  readonly #link: Link;
  readonly #options: HoldersOptions;
  readonly #known = createCache<Known>(knownMax);
  readonly #flights;

  constructor(link: Link, options: HoldersOptions) {
    this.#link = link;
    this.#options = options;
    this.#flights = createFlights(link, options);
  }

  async identify(keyHash: string, nowMs: number): Promise<Identification> {
    const it = await this.#find(keyHash);
    if (!it) return unknownKey;
    for (let reads = 0; reads < readsMax; reads += 1) {
      const answer = await this.#ask(keyHash, it, asking(nowMs));
      if (answer === false) return unknownKey;
      if (!answer || !it.holder) continue;
      const found = identifyHolder(it.holder, nowMs);
      if (found.ok) it.seenAtMs = nowMs;
      return found;
    }
    throw changesTooOften();
  }

  async admit(request: AdmitRequest): Promise<Admission> {
    const { keyHash, nowMs } = request;
    const it = await this.#find(keyHash);
    if (!it) return notKnown;
    for (let reads = 0; reads < readsMax; reads += 1) {
      const named = await this.#namedAgent(it, request.agentId);
      // Nothing is awaited from here to the question, so that the records and their revision belong together.
      const { holder } = it;
      const inTenant = named?.tenantId === it.tenantId ? named.agentId : undefined;
      const examined = holder && examine(holder, named, request);
      const asked = toAsking(holder, request, inTenant, examined);
      const answer = await this.#ask(keyHash, it, asked);
      if (answer === false) return notKnown;
      if (!answer || !examined) continue;
      const refused = quotaRefusal(examined.identity, answer);
      if (refused) return refused;
      if (!examined.ok) return examined;
      it.seenAtMs = nowMs;
      return toAdmission(holder, examined, asked, await answer.sightings, answer);
    }
    throw changesTooOften();
  }

  recall(keyHash: string, nowMs: number, withinMs: number): Identification | undefined {
    const it = this.#known.get(keyHash);
    if (!it?.holder || it.seenAtMs === 0 || Math.abs(nowMs - it.seenAtMs) > withinMs) return undefined;
    // A record that has changed since may be that of this very key, or of its agent.
    if (!this.#link.revisions.isLastOfKeys(it.tenantId, it.revision)) return undefined;
    return identifyHolder(it.holder, nowMs);
  }

  async #find(keyHash: string): Promise<Known | undefined> {
    const standing = this.#known.get(keyHash);
    if (standing || !hashShape.test(keyHash)) return standing;
    const owner = parseOwner(await this.#link.connection.call('GET', this.#link.names.keyHash(keyHash)));
    return (
      owner && {
        ...owner,
        own: this.#link.names.of(owner.tenantId),
        revision: '',
        holder: undefined,
        named: new Map(),
        seenAtMs: 0,
      }
    );
  }

  /**
   * Runs the script once. Resolves to undefined if there are fresh records to judge by, and to false if the
   * key is gone.
   */
  async #ask(keyHash: string, it: Known, request: Asking): Promise<RedisAnswer | undefined | false> {
    const { named } = request;
    const needsNamed = named !== undefined && !it.named.has(named);
    const revision = needsNamed ? '' : it.revision;
    const answer = await this.#flights.ask(it.tenantId, it.own, {
      revision,
      keyId: it.keyId,
      asking: request,
    });
    if (answer.status === 'unknown') {
      this.#known.delete(keyHash);
      return false;
    }
    if (answer.status !== 'stale') return answer;
    return this.#learn(keyHash, it, answer.revision, named, answer.fields.map(String)) ? undefined : false;
  }

  /** Remembers fresh records. Returns false where they are not those of this hash. */
  #learn(
    keyHash: string,
    it: Known,
    revision: string,
    named: string | undefined,
    [keyText, parentText, agentText, namedText, suspensionText]: readonly string[],
  ): boolean {
    const key = toRecord<KeyRecord>(keyText);
    const agent = toRecord<AgentRecord>(agentText);
    if (!key || !agent || !isSame(keyHash, key.hash)) {
      this.#known.delete(keyHash);
      return false;
    }
    if (revision !== it.revision || it.named.size >= namedMax) it.named.clear();
    if (revision !== it.revision || !it.holder)
      it.holder = {
        key,
        parent: toRecord<KeyRecord>(parentText),
        agent,
        isTenantSuspended: suspensionText !== '',
      };
    it.revision = revision;
    const other = toRecord<AgentRecord>(namedText);
    if (named !== undefined && other) it.named.set(named, other);
    this.#known.set(keyHash, it);
    return true;
  }

  /**
   * Returns the agent that a call names; undefined where it is the key's own or unknown. Only its tenant,
   * which never changes, is taken from here; the script reads the rest of its record.
   */
  async #namedAgent({ holder, named }: Known, agentId: string | undefined) {
    if (agentId === undefined || !holder || agentId === holder.key.agentId) return undefined;
    return named.get(agentId) ?? (await this.#options.agentById(agentId));
  }
}

const changesTooOften = () =>
  new GatewayError('STATE_UNAVAILABLE', 'The records of the key change too often.', { retryAfterSeconds: 1 });
