export interface TurnEndListener {
  /** Continues what waited. It is called once for each `wait`, and may not throw. */
  onTurnEnd(): void;
}

/** Runs what waits for the end of this turn of the event loop: by then all that has arrived is read. */
export type TurnEnd = ReturnType<typeof createTurnEnd>;

/** Creates a queue that needs one `setImmediate` for all that wait in a turn. */
export function createTurnEnd() {
  let waiting: TurnEndListener[] = [];
  const tell = () => {
    const listeners = waiting;
    waiting = [];
    for (const listener of listeners) listener.onTurnEnd();
  };
  return {
    wait(listener: TurnEndListener) {
      if (waiting.push(listener) === 1) setImmediate(tell);
    },
  };
}
