/**
 * Counts a generation's requests. `close` is called once, when the generation has retired and its last
 * request is over.
 */
export function createLifetime(close: () => void) {
  let isRetired = false;
  let running = 0;
  const closeWhenIdle = (): void => {
    if (isRetired && running === 0) close();
  };
  const leave = (): void => {
    running -= 1;
    closeWhenIdle();
  };
  return {
    isRetired: () => isRetired,
    enter() {
      running += 1;
      return leave;
    },
    retire() {
      isRetired = true;
      closeWhenIdle();
    },
  };
}
