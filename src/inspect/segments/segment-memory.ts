/*
 * Remembers the findings of beginnings, in segments from one checkpoint to the next, so that repeated content
 * is not read again. Tenants share nothing. Memory is bounded: the least recently met segments go first, and
 * a body loses its end before its beginning.
 */

export interface Segment<T> {
  /** The key of the checkpoint at its end. */
  readonly key: string;
  readonly content: T;
  /** The number of bytes that it takes up. */
  readonly size: number;
  /** The segment that ends where this one begins; undefined for the first of a body. */
  readonly before: Segment<T> | undefined;
}

export interface MemoryBounds {
  readonly bytesMax: number;
  /** The share of the bytes that one tenant may take, from 0 to 1. */
  readonly tenantShare: number;
}

interface Own<T> {
  /** The segments by key, in the order in which they were last met. */
  readonly segments: Map<string, Segment<T>>;
  size: number;
}

export class SegmentMemory<T> {
  readonly #bounds: MemoryBounds;
  /** The memory of each tenant, in the order in which tenants were last met. */
  readonly #tenants = new Map<string, Own<T>>();
  #size = 0;

  constructor(bounds: MemoryBounds) {
    this.#bounds = bounds;
  }

  /** Returns how many bytes all segments take up. */
  get size(): number {
    return this.#size;
  }

  get(tenantId: string, key: string): Segment<T> | undefined {
    return this.#tenants.get(tenantId)?.segments.get(key);
  }

  /** Notes that a beginning was met that ends with this segment, and keeps its new segments. */
  keep(tenantId: string, last: Segment<T>): void {
    const own = this.#tenants.get(tenantId) ?? { segments: new Map(), size: 0 };
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, own);
    for (let it: Segment<T> | undefined = last; it; it = it.before) {
      this.#drop(own, it.key);
      own.segments.set(it.key, it);
      this.#grow(own, it.size);
    }
    const { bytesMax, tenantShare } = this.#bounds;
    while (own.size > bytesMax * tenantShare) this.#dropOldest(own);
    while (this.#size > bytesMax) this.#dropTenant();
  }

  #drop(own: Own<T>, key: string): void {
    const known = own.segments.get(key);
    if (!known) return;
    own.segments.delete(key);
    this.#grow(own, -known.size);
  }

  #dropOldest(own: Own<T>): void {
    for (const key of own.segments.keys()) {
      this.#drop(own, key);
      return;
    }
  }

  #dropTenant(): void {
    for (const [id, { size }] of this.#tenants) {
      this.#tenants.delete(id);
      this.#size -= size;
      return;
    }
  }

  #grow(own: Own<T>, size: number): void {
    own.size += size;
    this.#size += size;
  }
}
