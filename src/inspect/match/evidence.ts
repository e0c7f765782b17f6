import type { Confidence } from '../../core/call.ts';
import { lastAtOrBefore } from '../decode/span-map.ts';
import type { Detector, DetectorRole } from '../patterns/detector.ts';

/*
 * Weighs hints: findings that say something only beside others. "Metformin" is a medicine and "Ravi Lim" a
 * name; together they are somebody's health. A detector names what its matches stand for (`role`) and what
 * must stand near one (`needs`). Hints are weighed once all forms of a part were searched, since the name may
 * stand in plain text and the note in base64 behind it.
 */

/** A finding with its place in the bytes of a part. */
export interface PlacedFinding {
  readonly match: {
    readonly detector: Pick<Detector, 'role' | 'needs' | 'class'>;
    readonly confidence: Confidence;
  };
  readonly start: number;
  readonly end: number;
}

/**
 * Bound on the bytes between two findings that count together, which is a record or a few paragraphs. With a
 * larger one, a long conversation that names somebody and explains a disease would be about that person's
 * health.
 */
const reachBytes = 1024;

/**
 * Returns the hints that count. They have medium confidence where something that they need stands near, else
 * low confidence. Clinical words near nobody are left out. Takes n log n steps for n findings and hints.
 */
export function weighHints<T extends PlacedFinding>(found: readonly T[], hints: readonly T[]): T[] {
  if (hints.length === 0) return [];
  const neighbours = new Neighbours([...found, ...hints]);
  return hints.flatMap((hint) => {
    const { needs, role } = hint.match.detector;
    if (neighbours.has(hint, needs)) return [{ ...hint, match: { ...hint.match, confidence: 'medium' } }];
    return role === 'clinical' || role === 'health' ? [] : [hint];
  });
}

/** Tells whether a finding of a role stands near, by the sorted places of each role. */
class Neighbours {
  readonly #placesOf = new Map<DetectorRole, Places>();

  constructor(all: readonly PlacedFinding[]) {
    for (const placed of all.toSorted((a, b) => a.start - b.start)) {
      const { role } = placed.match.detector;
      if (role === undefined || !counts(placed)) continue;
      const places = this.#placesOf.get(role) ?? new Places();
      places.add(placed);
      this.#placesOf.set(role, places);
    }
  }

  has(hint: PlacedFinding, roles: readonly DetectorRole[]): boolean {
    return roles.some((role) =>
      this.#placesOf.get(role)?.hasWithin(hint.start - reachBytes, hint.end + reachBytes),
    );
  }
}

/** Tells whether a finding may stand for its role. An identifier of low confidence does not. */
function counts({ match: { detector, confidence } }: PlacedFinding): boolean {
  return detector.role !== 'identifier' || confidence !== 'low';
}

/** Holds regions, which are added in the order of their starts. */
class Places {
  readonly #starts: number[] = [];
  /** For each region, the farthest end of it and of all before it. */
  readonly #ends: number[] = [];

  add({ start, end }: PlacedFinding): void {
    this.#starts.push(start);
    this.#ends.push(Math.max(end, this.#ends.at(-1) ?? 0));
  }

  /** Tells whether some region overlaps a span. */
  hasWithin(from: number, to: number): boolean {
    const last = lastAtOrBefore(this.#starts, to - 1);
    return last >= 0 && (this.#ends[last] as number) > from;
  }
}
