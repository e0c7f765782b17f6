import type { SensitiveRead, Sighting, Sightings } from '../history.ts';

/*
 * What happened lately in a tenant, as far as it may explain what comes: the same for every driver, in memory. Redis hands what other nodes
 * have seen to the next call of each node.
 */

export const sightingsKeptMs = 600_000;
/** Of one tenant. */
export const sightingsMax = 512;
/** Of all sightings of one tenant. */
export const shinglesMax = 131_072;

export interface SightingLog extends Sightings {
  add(sighting: Sighting): void;
  /** Forgets what is too old. */
  expire(nowMs: number): void;
}

const none: readonly never[] = Object.freeze([]);

export function createSightingLog(): SightingLog {
  const all: Sighting[] = [];
  const reads = new Map<number, SensitiveRead[]>();
  let shingles = 0;

  function forget(at: number): void {
    const [gone] = all.splice(at, 1);
    if (gone?.kind !== 'read') return;
    shingles -= gone.shingles.length;
    for (const shingle of gone.shingles) {
      const left = reads.get(shingle)?.filter((it) => it !== gone) ?? [];
      if (left.length === 0) reads.delete(shingle);
      else reads.set(shingle, left);
    }
  }

  const oldestRead = (): number => all.findIndex((it) => it.kind === 'read' && it.shingles.length > 0);

  return {
    all,
    get hasReads() {
      return all.some((it) => it.kind === 'read');
    },
    readsWith: (shingle) => reads.get(shingle) ?? none,
    add(sighting) {
      all.push(sighting);
      if (sighting.kind === 'read') {
        shingles += sighting.shingles.length;
        for (const shingle of sighting.shingles) {
          const others = reads.get(shingle);
          if (others) others.push(sighting);
          else reads.set(shingle, [sighting]);
        }
      }
      if (all.length > sightingsMax) forget(0);
      // Long reads push out reads: nobody hides anything else by reading much. The last one stays, whatever its length.
      while (shingles > shinglesMax && oldestRead() < all.length - 1) forget(oldestRead());
    },
    expire(nowMs) {
      for (let first = all[0]; first && nowMs - first.atMs >= sightingsKeptMs; first = all[0]) forget(0);
    },
  };
}
