import type { Band, Decision, Signal } from '../../src/call.ts';
import type { Gateways } from './gateways.ts';
import type { PlannedCall, Week } from './week.ts';

/** What became of a call. */
export interface Outcome {
  readonly call: PlannedCall;
  readonly decision: Decision;
  readonly band: Band;
  readonly signals: readonly Signal[];
  readonly reasons: readonly string[];
}

/** What was recorded is with the state after a quarter of a second; here it is left behind for up to this, as the week counts. */
const shippedWithinMs = 1_000;
/** Until an agent has the answer of an upstream classified. */
const answeredAfterMs = 400;

/** What is denied or held has no answer. */
const wentOut = (decision: Decision): boolean => decision === 'ALLOW' || decision === 'SANITIZE';

interface Recorded {
  readonly atMs: number;
  readonly traceId: string;
  readonly authorization: string;
}

/**
 * Sends the calls of the week, one after the other and each to the next daemon. A week passes in seconds, so what would have been shipped
 * between two calls is shipped before the second one: the first request for a trace does that.
 */
export async function play({ calls }: Week, gateways: Gateways): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  /** By daemon: the first and the last call that may not be shipped yet. */
  const waiting = new Map<number, { readonly sinceMs: number; last: Recorded }>();
  let turn = 0;
  const nextDaemon = (): number => {
    turn += 1;
    return turn % gateways.count;
  };

  async function shipUntil(ms: number): Promise<void> {
    for (const [daemon, { sinceMs, last }] of waiting) {
      if (sinceMs > ms) continue;
      waiting.delete(daemon);
      const { atMs, authorization, traceId } = last;
      const { status } = await gateways.ask(daemon, {
        atMs,
        method: 'GET',
        path: `/v1/traces/${traceId}`,
        authorization,
      });
      if (status !== 200) throw new Error(`the trace of a call is answered ${status}`);
    }
  }

  for (const call of calls) {
    const { agent, atMs, method, url, headers, body, answer } = call;
    const authorization = gateways.authorizationOf(agent);
    await shipUntil(atMs - shippedWithinMs);
    const daemon = nextDaemon();
    const described = { method, url, headers, body };
    const scanned = await gateways.ask(daemon, {
      atMs,
      method: 'POST',
      path: '/v1/scan',
      authorization,
      body: described,
    });
    if (scanned.status !== 200)
      throw new Error(`a call of ${agent.name} is answered ${scanned.status}: ${scanned.body?.detail}`);
    const { trace_id: traceId, decision, risk_band: band, signals, reason_codes: reasons } = scanned.body;
    outcomes.push({ call, decision, band, signals, reasons });
    const last = { atMs, traceId, authorization };
    waiting.set(daemon, { sinceMs: waiting.get(daemon)?.sinceMs ?? atMs, last });
    if (answer === undefined || !wentOut(decision)) continue;
    await shipUntil(atMs);
    const reported = await gateways.ask(nextDaemon(), {
      atMs: atMs + answeredAfterMs,
      method: 'POST',
      path: '/v1/scan/response',
      authorization,
      body: { trace_id: traceId, response_status: 200, response_body: answer },
    });
    if (reported.status !== 200)
      throw new Error(`an answer to ${agent.name} is answered ${reported.status}: ${reported.body?.detail}`);
  }
  return outcomes;
}
