/** How far apart the clocks of nodes may be, in milliseconds. */
export const clockSkewMs = 60_000;

/** Tells whether a time lies so far ahead that a clock wrote it which was wrong, and has been set back since. */
export const isFromWrongClock = (atMs: number, nowMs: number): boolean => atMs - nowMs > clockSkewMs;
