import { GatewayError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';
import type { Gate } from '../decision/gate.ts';
import { lacking } from './fields/permissions.ts';
import type { ApiRequest, Caller } from './route.ts';
import { callerNow } from './session/session-caller.ts';

/* Tells when answers that last, as server-sent events do (HTML, 9.2), are to end. */

/**
 * Milliseconds of silence before a stream says something. A connection on which nothing comes is taken for
 * dead by those between.
 */
export const heartbeatMs = 15_000;
/** Milliseconds for which a stream lasts at most. Then it ends, and the client goes on with the next one. */
const lifeMsMax = 3_600_000;
/** Milliseconds within which a stream ends whose key or session does not count any more. */
export const lookMs = 1_000;
export const retryMs = 2_000;

/** Streams of one path that may be open at once. */
export const streamsMax = { perKeyMax: 8, perTenantMax: 32, inAllMax: 256 } as const;

export interface Lasting
  extends Pick<ApiRequest<unknown, unknown>, 'gate' | 'caller' | 'clientAddress' | 'nowMs'> {
  /** Permissions of which the caller must have one, all the time. */
  readonly anyOf: readonly Permission[];
}

/** Returns a function, asked again and again, that says why to end the stream; undefined: it may go on. */
export function endingOf({
  gate,
  caller,
  clientAddress,
  nowMs,
  anyOf,
}: Lasting): () => Promise<string | undefined> {
  const { generation } = gate.status();
  let lookedAtMs = nowMs;
  return async () => {
    const now = Date.now();
    if (gate.status().isDraining) return 'shutting_down';
    // The next configuration decides when the client comes again.
    if (gate.status().generation !== generation) return 'reloaded';
    if (now - nowMs > lifeMsMax) return 'renew';
    if (now - lookedAtMs < lookMs) return undefined;
    lookedAtMs = now;
    return (await mayFollow(gate, caller, { clientAddress, anyOf, now })) ? undefined : 'not_allowed';
  };
}

async function mayFollow(
  gate: Gate,
  caller: Caller,
  { clientAddress, anyOf, now }: { clientAddress: string; anyOf: readonly Permission[]; now: number },
): Promise<boolean> {
  try {
    const current = await callerNow(gate, caller, clientAddress, now);
    return current?.kind === 'admin' || (current !== undefined && lacking(current.key, anyOf) === undefined);
  } catch (error) {
    // Nobody can tell whether the caller may still follow. So the stream ends (fail closed), and the client
    // comes again.
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** Returns the last event of a stream. */
export const toEnd = (reason: string): string => `event: end\ndata: {"reason":"${reason}"}\n\n`;
