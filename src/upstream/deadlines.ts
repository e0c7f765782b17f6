/*
 * One coarse clock for all exchanges instead of a timer for each: undici's own timers cost 8 to 12 % of a small request. The
 * clock counts ticks, so that a byte that arrives costs one assignment; an exchange is ended up to one tick late. While the
 * event loop stands still no ticks pass, and a call is not blamed for our own delay.
 */

export interface Timed {
  /** Its place in the list of those that run; `Deadlines` alone writes it. */
  slot: number;
  /** Asked at every tick; ends the exchange when it is late. */
  checkDeadline(tick: number): void;
}

export interface Deadlines {
  /** The present, in ticks. */
  readonly tick: number;
  add(exchange: Timed): void;
  /** Only once, and only what was added. */
  delete(exchange: Timed): void;
  /** A duration in ticks, never shorter than asked. */
  toTicks(durationMs: number): number;
  close(): void;
}

const tickMsMin = 10;
const tickMsMax = 500;

/** A clock that is exact to a quarter of the shortest duration it will be asked about, between 10 and 500 ms. */
export function createDeadlines(shortestMs: number, onTick: (tick: number) => void): Deadlines {
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, shortestMs / 4));
  // Not a Set: its replaced hash tables point to their successors, and one that has grown old keeps every later exchange from
  // being collected while it is young. That cost a fifth of a small request.
  const running: Timed[] = [];
  const deadlines = {
    tick: 0,
    add(exchange: Timed) {
      exchange.slot = running.push(exchange) - 1;
    },
    delete(exchange: Timed) {
      const last = running.pop();
      if (last === undefined || last === exchange) return;
      running[exchange.slot] = last;
      last.slot = exchange.slot;
    },
    // The running tick is already partly over.
    toTicks: (durationMs: number) => Math.ceil(durationMs / tickMs) + 1,
    close: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    deadlines.tick++;
    // From the end, because whoever is late leaves, and the last then takes its place.
    for (let i = running.length - 1; i >= 0; i--) running[i]?.checkDeadline(deadlines.tick);
    onTick(deadlines.tick);
  }, tickMs);
  timer.unref();
  return deadlines;
}
