import type { Confidence } from '../../core/call.ts';
import type { Detector, DetectorRole } from '../patterns/detector.ts';

/*
 * Some findings say something only beside others. "Metformin" is a medicine and "Ravi Lim" a name; together they are somebody's health.
 * A detector says what its matches stand for (`role`) and what must stand near one to count (`needs`); this is where it is looked up, once
 * all forms of a part were searched: the name may stand in plain text, and the note in base64 behind it.
 */

/** What was found in a part of a call, in bytes of the part. */
export interface PlacedFinding {
  readonly match: {
    readonly detector: Pick<Detector, 'role' | 'needs' | 'class'>;
    readonly confidence: Confidence;
  };
  readonly start: number;
  readonly end: number;
}

/**
 * Bytes between two findings that count together: a record or a few paragraphs. Farther apart, a long conversation that names somebody
 * here and explains a disease there would be about that person's health.
 */
const reachBytes = 1024;

/**
 * Those of the hints that count: with medium confidence where something stands near that they need, else with low. Clinical words near
 * nobody are no findings at all. Takes n log n steps for n findings and hints.
 */
export function weighHints<T extends PlacedFinding>(found: readonly T[], hints: readonly T[]): T[] {
  if (hints.length === 0) return [];
  const near = new Neighbours([...found, ...hints]);
  return hints.flatMap((hint) => {
    const { needs, role } = hint.match.detector;
    if (near.has(hint, needs)) return [{ ...hint, match: { ...hint.match, confidence: 'medium' } }];
    return role === 'clinical' || role === 'health' ? [] : [hint];
  });
}

/** Answers whether something of a role stands near, for each role from the sorted places of what has it. */
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

/** A number that only might point to somebody does not. */
function counts({ match: { detector, confidence } }: PlacedFinding): boolean {
  return detector.role !== 'identifier' || confidence !== 'low';
}

/** Regions, added in the order of their starts. */
class Places {
  readonly #starts: number[] = [];
  /** The farthest end of the region at each place and of all before it. */
  readonly #ends: number[] = [];

  add({ start, end }: PlacedFinding): void {
    this.#starts.push(start);
    this.#ends.push(Math.max(end, this.#ends.at(-1) ?? 0));
  }

  /** Whether some region has a byte in between. */
  hasWithin(from: number, to: number): boolean {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] as number) < to) low = middle + 1;
      else high = middle;
    }
    return low > 0 && (this.#ends[low - 1] as number) > from;
  }
}
