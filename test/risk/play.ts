import type { Band, Decision, Signal } from '../../src/core/call.ts';
import type { Gateways, Reply, Request } from './gateways.ts';
import type { PlannedCall, Week } from './week.ts';

/** What became of a call. */
export interface Outcome {
  readonly call: PlannedCall;
  readonly decision: Decision;
  readonly band: Band;
  readonly signals: readonly Signal[];
}

/** Until an agent has the answer of an upstream classified. */
const answeredAfterMs = 400;

/** What is denied or held has no answer. */
const wentOut = (decision: Decision): boolean => decision === 'ALLOW' || decision === 'SANITIZE';

/**
 * Sends the calls of the week, one after the other and each to the next daemon. What was recorded is with the state a quarter of a second
 * later; a week passes in seconds, so that is not waited for but asked for: whoever looks for a fresh trace has it shipped.
 */
export async function play({ calls }: Week, gateways: Gateways): Promise<readonly Outcome[]> {
  let turn = 0;

  async function ask(daemon: number, request: Request): Promise<Reply['body']> {
    const { status, body } = await gateways.ask(daemon, request);
    if (status === 200) return body;
    throw new Error(`${request.method} ${request.path} is answered ${status}: ${body?.detail}`);
  }

  function nextDaemon(): number {
    turn += 1;
    return turn % gateways.count;
  }

  async function send(call: PlannedCall): Promise<Outcome> {
    const { agent, atMs, method, url, headers, body, answer } = call;
    const authorization = gateways.authorizationOf(agent);
    const daemon = nextDaemon();
    const described = { method, url, headers, body };
    const scan = { atMs, method: 'POST', path: '/v1/scan', authorization, body: described };
    const { trace_id, decision, risk_band: band, signals } = await ask(daemon, scan);
    await ask(daemon, { atMs, method: 'GET', path: `/v1/traces/${trace_id}`, authorization });
    if (answer !== undefined && wentOut(decision)) {
      await ask(nextDaemon(), {
        atMs: atMs + answeredAfterMs,
        method: 'POST',
        path: '/v1/scan/response',
        authorization,
        body: { trace_id, response_status: 200, response_body: answer },
      });
    }
    return { call, decision, band, signals };
  }

  const outcomes: Outcome[] = [];
  for (const call of calls) outcomes.push(await send(call));
  return outcomes;
}
