import { GatewayError } from '../core/errors.ts';
import { Tally } from '../util/tally.ts';
import type { Answer } from '../wire/http1/answer.ts';

/*
 * Bounds the answers that lie here until their clients take them. Without it, a client that asks for long
 * lists and reads none would have the daemon hold one for each of its connections.
 */

/** Bytes up to which an answer is not counted. It fits into what the system holds for a connection. */
const shortBytes = 65_536;
/** Bytes of long answers that may wait, in all and (below) for one caller. The first one always has room. */
const unreadBytesMax = 256 * 1024 * 1024;
export const unreadOfCallerMax = 32 * 1024 * 1024;
/** Grace and pace within which a client takes its answer. One that takes longer has gone. */
const patience = { graceMs: 60_000, bytesPerSecondMin: 16_384 };

export function createUnreadAnswers({ graceMs, bytesPerSecondMin } = patience) {
  const heldBy = new Tally();
  let held = 0;

  function change(caller: string, bytes: number): void {
    heldBy.add(caller, bytes);
    held += bytes;
  }

  return {
    /** Takes room for an answer until it or its connection is gone. Throws GATEWAY_BUSY if there is none. */
    hold(response: Answer, caller: string, bytes: number) {
      if (bytes <= shortBytes || response.destroyed) return;
      const own = heldBy.of(caller);
      if ((own > 0 && own + bytes > unreadOfCallerMax) || (held > 0 && held + bytes > unreadBytesMax))
        throw new GatewayError(
          'GATEWAY_BUSY',
          'Earlier answers are not read yet. Read them first, or ask for shorter pages.',
        );
      change(caller, bytes);
      const timer = setTimeout(() => response.destroy(), graceMs + (bytes / bytesPerSecondMin) * 1_000);
      // The wait ends when the connection is closed, whether the answer was taken or not.
      response.once('close', () => {
        clearTimeout(timer);
        change(caller, -bytes);
      });
    },
  };
}
