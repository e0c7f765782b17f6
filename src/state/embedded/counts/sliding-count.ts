/** Counts by slots of time (hours, or tens of seconds), and remembers the newest `slots` of them. */
export type SlidingCount = ReturnType<typeof createSlidingCount>;

export function createSlidingCount(slots: number) {
  /** The counts. That of a slot stands at `slot % slots`. */
  const counts = new Array<number>(slots).fill(0);
  let newest = 0;

  return {
    /** Adds to a slot. A slot that is too old to be remembered is not counted. */
    add(slot: number, count: number) {
      if (slot <= newest - slots) return;
      for (let passed = Math.max(newest + 1, slot - slots + 1); passed <= slot; passed += 1)
        counts[passed % slots] = 0;
      newest = Math.max(newest, slot);
      counts[slot % slots] = (counts[slot % slots] ?? 0) + count;
    },
    /** Returns the sum of the remembered slots up to this one. */
    sum(slot: number) {
      let total = 0;
      const first = Math.max(slot, newest) - slots + 1;
      for (let at = first; at <= Math.min(slot, newest); at += 1) total += counts[at % slots] ?? 0;
      return total;
    },
  };
}
