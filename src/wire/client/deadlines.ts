import type { GatewayError } from '../../core/errors.ts';

/*
 * All exchanges and connections share one coarse clock. Timers of their own cost 8 to 12 % of a small
 * request. The clock counts ticks, so that a byte that arrives costs one assignment. An exchange is ended up
 * to one tick late. While the event loop stands still no ticks pass, and a call is not blamed for our own
 * delay.
 */

/** An exchange that runs. */
export interface Timed {
  /** Index in the list of exchanges that run; `Deadlines` alone writes it. */
  slot: number;
  /** Ends the exchange when it is late. It is called at every tick. */
  checkDeadline(tick: number): void;
  fail(error: GatewayError): void;
}

export interface Deadlines {
  /** The present, in ticks. */
  readonly tick: number;
  add(exchange: Timed): void;
  /** Removes an exchange that was added. It is called once. */
  delete(exchange: Timed): void;
  /** Returns a duration in ticks, never shorter than asked. */
  toTicks(durationMs: number): number;
  /** Returns a duration in ticks, never longer than asked; 0 where it is too short for this clock. */
  toTicksWithin(durationMs: number): number;
  /** Fails all exchanges that run. */
  failAll(error: GatewayError): void;
  /** Resolves once no exchange runs. */
  whenIdle(): Promise<void>;
  close(): void;
}

const tickMsMin = 10;
const tickMsMax = 500;

/** Creates a clock that is exact to a quarter of the shortest duration asked about, within 10 and 500 ms. */
export function createDeadlines(shortestMs: number, onTick: (tick: number) => void): Deadlines {
  const tickMs = Math.min(tickMsMax, Math.max(tickMsMin, shortestMs / 4));
  // This is no Set. A Set's replaced hash tables point to their successors, and one that has grown old keeps
  // every later exchange from being collected young. That cost a fifth of a small request.
  const running: Timed[] = [];
  let onIdle: (() => void)[] = [];

  /**
   * Visits all from the end of the list, because an exchange that ends leaves it, and the last one takes its
   * place.
   */
  function forEach(act: (exchange: Timed) => void): void {
    for (let i = running.length - 1; i >= 0; i--) {
      const exchange = running[i];
      if (exchange) act(exchange);
    }
  }

  const deadlines: Deadlines & { tick: number } = {
    tick: 0,
    add(exchange) {
      exchange.slot = running.push(exchange) - 1;
    },
    delete(exchange) {
      const last = running.pop();
      if (last !== undefined && last !== exchange) {
        running[exchange.slot] = last;
        last.slot = exchange.slot;
      }
      if (running.length > 0 || onIdle.length === 0) return;
      for (const resolve of onIdle) resolve();
      onIdle = [];
    },
    // The running tick is already partly over.
    toTicks: (durationMs) => Math.ceil(durationMs / tickMs) + 1,
    toTicksWithin: (durationMs) => Math.floor(durationMs / tickMs),
    failAll: (error) => forEach((exchange) => exchange.fail(error)),
    whenIdle: () =>
      running.length === 0 ? Promise.resolve() : new Promise((resolve) => onIdle.push(resolve)),
    close: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    const tick = ++deadlines.tick;
    forEach((exchange) => exchange.checkDeadline(tick));
    onTick(tick);
  }, tickMs);
  timer.unref();
  return deadlines;
}
