import type { Span } from '../decode/span-map.ts';
import type { Match, PartialSecret } from './engine.ts';

/** A match with its place in the bytes of its part. */
export interface Placed<T> extends Span {
  readonly match: T;
}

/** A match in joined pieces, with its span in each piece. */
export interface BoundaryMatch {
  readonly match: Match;
  readonly spans: readonly Span[];
}

/** Finds what lies across the boundaries of pieces and stands as a whole in none of them. */
export type Look = (pieces: readonly Span[]) => readonly BoundaryMatch[];

/** Returns what the same detector did not find before in the same place. */
export function unseen<T extends Placed<Match>>(found: readonly T[], before: readonly Placed<Match>[]): T[] {
  if (found.length === 0) return [];
  const keys = new Set(before.map(placeKey));
  return found.filter((it) => !keys.has(placeKey(it)));
}

/** Returns a key that is equal for what the same detector found in the same place. */
export const placeKey = ({ match, start, end }: Placed<Match | PartialSecret>): string =>
  `${match.detector.id}:${start}:${end}`;
