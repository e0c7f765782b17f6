export interface TurnEndListener {
  /** Called once for each `wait`; may not throw. */
  onTurnEnd(): void;
}

/** Everything that waits for the end of this turn of the event loop: until then, all that has arrived by now is read. */
export type TurnEnd = ReturnType<typeof createTurnEnd>;

/** One `setImmediate` for all that wait in a turn. */
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
