import type { Span } from '../decode/span-map.ts';
import type { Match } from './engine.ts';

/** A match with its place in the bytes of its part. */
export interface Placed<T> extends Span {
  readonly match: T;
}

/** A match in joined pieces, with its span in each piece. */
export interface BoundaryMatch {
  readonly match: Match;
  readonly spans: readonly Span[];
}

/** Finds what lies across the boundaries of pieces and is seen in none of them. */
export type Look = (pieces: readonly Span[]) => readonly BoundaryMatch[];
