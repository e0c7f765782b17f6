/**
 * Returns a function that runs at most `atOnce` tasks at a time. The others wait for their turn, in order.
 */
export function createTurns(atOnce: number): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      // The place is handed on directly, so that nobody who comes in between takes it.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
