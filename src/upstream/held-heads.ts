export interface Holder {
  flushHead(): void;
}

/** Heads of answers that wait for their first chunk, but not beyond this turn of the event loop. */
export interface HeldHeads {
  hold(holder: Holder): void;
}

/** One `setImmediate` for all heads of a turn. Of a small answer, head and body are parsed in the same tick, before it. */
export function createHeldHeads(): HeldHeads {
  let held: Holder[] = [];
  const flush = () => {
    const waiting = held;
    held = [];
    for (const holder of waiting) holder.flushHead();
  };
  return {
    hold(holder) {
      if (held.push(holder) === 1) setImmediate(flush);
    },
  };
}
