type Close = () => void | Promise<void>;

/** What helpers of tests close their things by. */
export interface Teardown {
  teardown(close: Close): unknown;
}

/** Runs a benchmark and closes what it has opened, the last first, also where it fails. */
export async function withTeardown(run: (bench: Teardown) => Promise<void>): Promise<void> {
  const closing: Close[] = [];
  try {
    await run({ teardown: (close) => closing.unshift(close) });
  } finally {
    for (const close of closing) await close();
  }
}
