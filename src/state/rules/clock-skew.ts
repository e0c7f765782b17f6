/**
 * How far apart the clocks of nodes may be, in milliseconds. What lies further ahead was written by a clock that
 * was wrong.
 */
export const clockSkewMs = 60_000;
