import { GatewayError } from '../core/errors.ts';
import { Tally } from '../util/tally.ts';
import type { Answer } from '../wire/http1/answer.ts';

/*
 * Answers that lie here until their client takes them. Who asks for long lists and reads none of them would
 * have the daemon hold as many as it has connections.
 */

/** Shorter ones fit into what the system holds for a connection. */
const shortBytes = 65_536;
/** These bound the long answers that wait, in all and for one caller. The first one always has room. */
const unreadBytesMax = 256 * 1024 * 1024;
export const unreadOfCallerMax = 32 * 1024 * 1024;
/** A client that has not taken its answer by then, at this pace, has gone. */
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
      // A closing connection ends the wait, whether the answer was taken or not.
      response.once('close', () => {
        clearTimeout(timer);
        change(caller, -bytes);
      });
    },
  };
}
