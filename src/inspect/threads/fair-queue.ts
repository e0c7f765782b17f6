/**
 * The tenant and the agent whose turn a job takes. Tenants take turns, and within each tenant its agents do.
 */
export interface QueueOwner {
  readonly tenantId: string;
  readonly agentId: string;
}

export interface QueueBounds {
  readonly countMax: number;
  readonly bytesMax: number;
  /** The share of either bound that one tenant may take, from 0 to 1. */
  readonly tenantShare: number;
}

interface Waiting<T> {
  readonly item: T;
  readonly bytes: number;
  /** The number of items behind it that were taken before it. */
  passedBy: number;
}

/** Bounds on the items of an agent to choose from, and on those that may be taken before an earlier one. */
const choiceMax = 16;
const passedByMax = 8;

interface Line<T> {
  readonly agents: Map<string, Waiting<T>[]>;
  count: number;
  bytes: number;
}

/**
 * Keeps jobs in a queue that is bounded in number and bytes, for all tenants together and for each of them.
 */
export class FairQueue<T> {
  readonly #bounds: QueueBounds;
  /** The tenants in the order of their turns. One that had a turn goes to the end. */
  readonly #tenants = new Map<string, Line<T>>();
  #count = 0;
  #bytes = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get length(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds an item. Returns false where there is no room. A queue without items takes one of any size. */
  add({ tenantId, agentId }: QueueOwner, item: T, bytes: number): boolean {
    const { countMax, bytesMax, tenantShare } = this.#bounds;
    const line = this.#tenants.get(tenantId) ?? { agents: new Map(), count: 0, bytes: 0 };
    const isOver = (count: number, size: number, share: number): boolean =>
      count >= countMax * share || (count > 0 && size + bytes > bytesMax * share);
    if (isOver(this.#count, this.#bytes, 1) || isOver(line.count, line.bytes, tenantShare)) return false;
    this.#tenants.set(tenantId, line);
    const own = line.agents.get(agentId) ?? [];
    line.agents.set(agentId, own);
    own.push({ item, bytes, passedBy: 0 });
    this.#change(line, 1, bytes);
    return true;
  }

  /** Takes the next item, by turns. Of the items of one agent it prefers one that is wanted. */
  take(isWanted: (item: T) => boolean = () => true): T | undefined {
    for (const [tenantId, line] of this.#tenants) {
      for (const [agentId, own] of line.agents) {
        const [next] = own;
        if (!next) throw new Error('an agent in the queue has nothing that waits');
        this.#tenants.delete(tenantId);
        this.#tenants.set(tenantId, line);
        const at = next.passedBy < passedByMax ? placeOf(own, isWanted) : 0;
        if (at > 0) next.passedBy += 1;
        return this.#drop(tenantId, line, agentId, own, at) ?? next.item;
      }
    }
    return undefined;
  }

  /** Removes an item. Returns false where it does not wait. */
  remove({ tenantId, agentId }: QueueOwner, item: T): boolean {
    const line = this.#tenants.get(tenantId);
    const own = line?.agents.get(agentId);
    const at = own?.findIndex((it) => it.item === item) ?? -1;
    if (!line || !own || at < 0) return false;
    this.#drop(tenantId, line, agentId, own, at);
    return true;
  }

  /** Removes and returns all items. */
  clear(): T[] {
    const all = [...this.#tenants.values()].flatMap(({ agents }) =>
      [...agents.values()].flatMap((own) => own.map(({ item }) => item)),
    );
    this.#tenants.clear();
    this.#count = 0;
    this.#bytes = 0;
    return all;
  }

  #drop(tenantId: string, line: Line<T>, agentId: string, own: Waiting<T>[], at: number): T | undefined {
    const [dropped] = own.splice(at, 1);
    line.agents.delete(agentId);
    if (own.length > 0) line.agents.set(agentId, own);
    this.#change(line, -1, -(dropped?.bytes ?? 0));
    if (line.count === 0) this.#tenants.delete(tenantId);
    return dropped?.item;
  }

  #change(line: Line<T>, count: number, bytes: number): void {
    line.count += count;
    line.bytes += bytes;
    this.#count += count;
    this.#bytes += bytes;
  }
}

/** Returns the place of the first item that is wanted; 0 where none is. */
function placeOf<T>(own: readonly Waiting<T>[], isWanted: (item: T) => boolean): number {
  const choice = Math.min(own.length, choiceMax);
  for (let at = 0; at < choice; at++) if (isWanted((own[at] as Waiting<T>).item)) return at;
  return 0;
}
