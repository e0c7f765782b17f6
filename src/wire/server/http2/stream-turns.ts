/** A connection whose streams begin in turns. */
export interface Begins {
  /** Begins the stream that has waited longest, if there is one. Returns whether others wait. */
  beginNext(): boolean;
}

/** The number of streams that begin before everything else has its turn: two milliseconds of reading. */
const perTurn = 16;

export type StreamTurns = ReturnType<typeof createStreamTurns>;

/**
 * Creates the turns of all streams of HTTP/2. One read of a few connections can bring thousands of requests,
 * which would hold up all others for seconds. So some begin in each turn of the event loop, and one of each
 * connection after the other.
 */
export function createStreamTurns() {
  const waiting = new Set<Begins>();
  let isDue = false;

  function run(): void {
    let begun = 0;
    for (const connection of waiting) {
      waiting.delete(connection);
      if (connection.beginNext()) waiting.add(connection);
      begun += 1;
      if (begun === perTurn) break;
    }
    isDue = waiting.size > 0;
    if (isDue) setImmediate(run);
  }

  return {
    /** Has a stream of the connection begin when it is its turn. */
    wait(connection: Begins): void {
      waiting.add(connection);
      if (!isDue) setImmediate(run);
      isDue = true;
    },
  };
}
