import { GatewayError } from '../core/errors.ts';
import type { Permission } from '../core/permissions.ts';
import type { Gate } from '../decision/gate.ts';
import { lacking } from './fields/permissions.ts';
import { type ApiRequest, type Caller, StreamedAnswer } from './route.ts';
import { callerNow } from './session/session-caller.ts';

/* Answers of server-sent events (HTML, 9.2), which last until one side ends them. */

/**
 * Milliseconds of silence before a stream says something. A connection on which nothing comes is taken for
 * dead by those between.
 */
const heartbeatMs = 15_000;
/** Milliseconds for which a stream lasts at most. Then it ends, and the client goes on with the next one. */
const lifeMsMax = 3_600_000;
/** Milliseconds within which a stream ends whose key or session does not count any more. */
export const lookMs = 1_000;
const retryMs = 2_000;

/** Streams of one path that may be open at once. */
export const streamsMax = { perKeyMax: 8, perTenantMax: 32, inAllMax: 256 } as const;

/** The beginning of each stream. */
export const opening = `retry: ${retryMs}\n: following\n\n`;

export type Following = Pick<
  ApiRequest<unknown, unknown>,
  'gate' | 'caller' | 'clientAddress' | 'nowMs' | 'tenantId' | 'signal'
>;

/**
 * Returns an answer of events. `source` yields them as text, and at least each `lookMs` '' where there are none.
 * The caller must have one of the permissions all the time.
 */
export const eventStream = (
  it: Following,
  anyOf: readonly Permission[],
  source: AsyncIterable<string>,
): StreamedAnswer =>
  new StreamedAnswer('text/event-stream', untilEnd(it, anyOf, source), ['X-Accel-Buffering', 'no']);

async function* untilEnd(
  it: Following,
  anyOf: readonly Permission[],
  source: AsyncIterable<string>,
): AsyncGenerator<string> {
  const signal = it.signal();
  const endOf = endingOf(it, anyOf);
  let spokeAtMs = performance.now();
  for await (const events of source) {
    if (signal.aborted) return;
    const end = await endOf();
    if (end !== undefined) {
      yield `event: end\ndata: {"reason":"${end}"}\n\n`;
      return;
    }
    if (events === '' && performance.now() - spokeAtMs < heartbeatMs) continue;
    spokeAtMs = performance.now();
    yield events === '' ? ':\n\n' : events;
  }
}

/** Returns a function, asked again and again, that says why to end the stream; undefined: it may go on. */
function endingOf(
  { gate, caller, clientAddress, nowMs }: Following,
  anyOf: readonly Permission[],
): () => Promise<string | undefined> {
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
