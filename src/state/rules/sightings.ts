import type { SensitiveRead, Sighting, Sightings } from '../../core/history.ts';

/*
 * Keeps recent events of a tenant that may explain what comes next. They are held in memory, in the same way
 * for every driver. Redis hands what other nodes have seen to the next call of each node.
 *
 * An agent that has something to hide may try to push events out. So each kind has a bound of its own. Where
 * a kind is full, the agent with most of it loses its oldest event. What an agent reports itself is counted
 * apart from what came to it through the gateway.
 */

export const sightingsKeptMs = 600_000;
/**
 * The limit of a tenant's events of one kind. Reads that agents report are a kind of their own, since agents
 * may invent any number.
 */
export const sightingsMax = 512;
/** The limit of shingles of all events of one kind, of one tenant. */
export const shinglesMax = 131_072;
/** The limit of reported answers to one call. */
export const readsOfTraceMax = 4;
/** The shingles that one `expire` forgets, which takes 1 to 2 ms. The last read may pass this. */
const shinglesAtOnce = 16_384;
/** The limit of tenants with a log. */
const logsMax = 512;

export interface SightingLog extends Sightings {
  add(sighting: Sighting): void;
  /** Forgets events that are too old, a few long reads at a time. */
  expire(nowMs: number): void;
}

const none: readonly never[] = Object.freeze([]);

/** Creates an empty log. `onPushedOut` receives each event that goes before its time. */
export function createSightingLog(onPushedOut?: (sighting: Sighting) => void): SightingLog {
  const all: Sighting[] = [];
  const reads = new ShingleIndex();
  const [seen, reported] = [new Shelf(), new Shelf()];
  const shelves = {
    ...{ seen, reported, secrets: new Shelf() },
    ...{ 'principal-created': new Shelf(), orders: new Shelf() },
  };
  const shelfOf = (sighting: Sighting): Shelf => {
    if (sighting.kind === 'read') return isReported(sighting) ? shelves.reported : shelves.seen;
    return shelves[sighting.kind];
  };

  function forget(gone: Sighting): void {
    removeFrom(all, gone);
    shelfOf(gone).remove(gone);
    if (gone.kind !== 'read') return;
    for (const shingle of gone.shingles) reads.remove(shingle, gone);
  }

  function pushOut(gone: Sighting): void {
    forget(gone);
    onPushedOut?.(gone);
  }

  return {
    all,
    get hasReads() {
      return shelves.seen.count + shelves.reported.count > 0;
    },
    readsWith: (shingle) => reads.with(shingle),
    add(sighting) {
      const shelf = shelfOf(sighting);
      all.push(sighting);
      shelf.add(sighting);
      if (sighting.kind === 'read') {
        for (const shingle of sighting.shingles) reads.add(shingle, sighting);
        // Only reported answers have this bound. Each event of a stream is an answer to one call, and nobody
        // invents what comes through the gateway.
        const [first, ...others] = isReported(sighting) ? shelf.ofTrace(sighting) : none;
        if (first && others.length >= readsOfTraceMax) pushOut(first);
      }
      if (shelf.count > sightingsMax) pushOut(shelf.oldestOfMost());
      // The event that was just added stays, whatever its length.
      for (let it = shelf.oldestOfLongest(); shelf.shingles > shinglesMax; it = shelf.oldestOfLongest()) {
        if (it === undefined || it === sighting) break;
        pushOut(it);
      }
    },
    expire(nowMs) {
      let room = shinglesAtOnce;
      for (let first = all[0]; first && room > 0 && isTooOld(first, nowMs); first = all[0]) {
        room -= shinglesOf(first);
        forget(first);
      }
    },
  };
}

const isTooOld = ({ atMs }: Sighting, nowMs: number): boolean => nowMs - atMs >= sightingsKeptMs;

const shinglesOf = (sighting: Sighting): number => (sighting.kind === 'read' ? sighting.shingles.length : 0);

/** Tells whether an agent has reported the answer. Such answers have no host. */
const isReported = ({ host }: SensitiveRead): boolean => host === '';

/** Removes an item. It is mostly the oldest, which stands first. */
function removeFrom<T>(list: T[], gone: T): void {
  if (list[0] === gone) list.shift();
  else list.splice(list.indexOf(gone), 1);
}

/**
 * The bits of a slot's number, which are a shingle's highest. With `shinglesMax` shingles, four in ten slots
 * are taken.
 */
const slotBits = 18;
/** The width of a slot, for shingles of 48 bits. */
const slotWidth = 2 ** (48 - slotBits);
const slotOf = (shingle: number): number => Math.trunc(shingle / slotWidth);
/** The highest count of a slot. A slot that so many shingles share stays taken. */
const countMax = 0xff;

/**
 * Finds the reads with a shingle. Nearly all shingles are in no read, which a byte tells ten times as fast as
 * a map.
 */
class ShingleIndex {
  readonly #readsOf = new Map<number, SensitiveRead[]>();
  #counts: Uint8Array | undefined;

  with(shingle: number): readonly SensitiveRead[] {
    if (this.#counts === undefined || this.#counts[slotOf(shingle)] === 0) return none;
    return this.#readsOf.get(shingle) ?? none;
  }

  add(shingle: number, read: SensitiveRead): void {
    const others = this.#readsOf.get(shingle);
    if (others) others.push(read);
    else {
      this.#readsOf.set(shingle, [read]);
      this.#count(shingle, 1);
    }
  }

  remove(shingle: number, gone: SensitiveRead): void {
    const left = this.#readsOf.get(shingle);
    if (!left) return;
    removeFrom(left, gone);
    if (left.length > 0) return;
    this.#readsOf.delete(shingle);
    this.#count(shingle, -1);
  }

  #count(shingle: number, by: 1 | -1): void {
    this.#counts ??= new Uint8Array(2 ** slotBits);
    const slot = slotOf(shingle);
    const count = this.#counts[slot] as number;
    if (count < countMax) this.#counts[slot] = count + by;
  }
}

interface Owned {
  /** The agent's events, oldest first. */
  readonly sightings: Sighting[];
  shingles: number;
}

/** The events of one kind, by their agents. */
class Shelf {
  count = 0;
  shingles = 0;
  readonly #owners = new Map<string, Owned>();

  add(sighting: Sighting): void {
    const owner = sighting.agentId;
    const owned = this.#owners.get(owner) ?? { sightings: [], shingles: 0 };
    this.#owners.set(owner, owned);
    owned.sightings.push(sighting);
    this.#count(owned, 1, shinglesOf(sighting));
  }

  remove(sighting: Sighting): void {
    const owner = sighting.agentId;
    const owned = this.#owners.get(owner);
    if (!owned) return;
    removeFrom(owned.sightings, sighting);
    this.#count(owned, -1, -shinglesOf(sighting));
    if (owned.sightings.length === 0) this.#owners.delete(owner);
  }

  #count(owned: Owned, sightings: number, shingles: number): void {
    this.count += sightings;
    this.shingles += shingles;
    owned.shingles += shingles;
  }

  /** Returns the events of the same agent and trace, oldest first. */
  ofTrace(sighting: Sighting): readonly Sighting[] {
    const { sightings } = this.#owners.get(sighting.agentId) ?? { sightings: none };
    return sightings.filter((it) => it.traceId === sighting.traceId);
  }

  oldestOfMost(): Sighting {
    const { sightings } = this.#ownerWithMost((it) => it.sightings.length);
    return sightings[0] as Sighting;
  }

  oldestOfLongest(): Sighting | undefined {
    if (this.shingles === 0) return undefined;
    return this.#ownerWithMost((it) => it.shingles).sightings.find((it) => shinglesOf(it) > 0);
  }

  /** Returns the agent with most; of equals the one that came first. There must be an agent. */
  #ownerWithMost(measure: (owned: Owned) => number): Owned {
    const [first, ...others] = this.#owners.values();
    return others.reduce((most, it) => (measure(it) > measure(most) ? it : most), first as Owned);
  }
}

/** Keeps the logs of at most `logsMax` tenants. Beyond that, the log that was used longest ago is dropped. */
export function createSightingLogs(create: (tenantId: string) => SightingLog = () => createSightingLog()) {
  /** The logs by tenant, the one that was used last at the end. */
  const logs = new Map<string, SightingLog>();

  function use(tenantId: string, log: SightingLog): void {
    logs.delete(tenantId);
    logs.set(tenantId, log);
  }

  return {
    find: (tenantId: string) => logs.get(tenantId),
    /** Returns the log of the tenant, a new one where there is none. */
    open(tenantId: string) {
      const log = logs.get(tenantId) ?? create(tenantId);
      use(tenantId, log);
      const [idle] = logs.keys();
      if (logs.size > logsMax && idle !== undefined) logs.delete(idle);
      return log;
    },
    /** Forgets old events of the tenant, and of the tenant whose log was used longest ago. */
    expire(tenantId: string, nowMs: number) {
      const own = logs.get(tenantId);
      if (own) {
        own.expire(nowMs);
        use(tenantId, own);
      }
      const [idle] = logs;
      if (idle === undefined || idle[0] === tenantId) return;
      idle[1].expire(nowMs);
      if (idle[1].all.length === 0) logs.delete(idle[0]);
    },
  };
}
