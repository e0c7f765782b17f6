import type { Tail } from '../call.ts';

/*
 * Beginnings of secrets that calls have left at a host. No text of them is kept, nor a hash of it: which detector's secret it may become
 * and how many characters that lacks is enough to know the rest when it comes.
 */

/** Of one agent at one host; the ones noted last. */
export const tailsMax = 8;
/** The rest must follow within so much. */
export const tailsKeptMs = 5 * 60_000;

/** What has not been too long ago. Clocks of nodes differ a little, so a time ahead is as good as now. */
export const standingTails = (tails: readonly Tail[], nowMs: number): readonly Tail[] =>
  tails.filter(({ atMs }) => nowMs - atMs < tailsKeptMs);

export const noTails: readonly Tail[] = Object.freeze([]);
