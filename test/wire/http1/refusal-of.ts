import { MalformedMessage } from '../../../src/wire/http1/head.ts';

/** Undefined where it was not refused. Other failures are thrown on. */
export function refusalOf(run: () => unknown): MalformedMessage | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof MalformedMessage) return error;
    throw error;
  }
  return undefined;
}
