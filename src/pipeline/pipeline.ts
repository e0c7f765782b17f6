import type { Call, Verdict } from '../call.ts';
import { type GatewayError, toGatewayError } from '../errors.ts';

/**
 * One step of the way. It receives what it needs when it is made, writes its own fields of the call, and sets
 * `call.verdict` only when it ends the run. It throws a `GatewayError` for a call that is refused rather than judged. A
 * stage that need not wait returns nothing, and the call stays on the same turn of the event loop.
 */
export interface Stage {
  readonly name: string;
  run(call: Call): void | Promise<void>;
}

/** Leaves the record of a call: decided, or refused with `refusal`. Rejects when it could not be written. */
export type Recorder = (call: Call, refusal: GatewayError | undefined) => Promise<void>;

/** Judges a call. Rejects with a `GatewayError` when the call is refused or could not be judged: then it must not go out. */
export type Inspect = (call: Call) => Promise<Verdict>;

/** No stage had an opinion: nothing goes out without one. */
const failClosed: Verdict = {
  decision: 'DENY',
  reasonCodes: ['NO_VERDICT'],
  classifications: [],
  explanation: ['No stage of the pipeline decided this call, so it is denied.'],
  matchedRules: [],
  decidedBy: undefined,
  wouldBe: undefined,
  sanitizedBody: undefined,
  approval: undefined,
};

/** The loop: every entrance hands its calls to what this returns. The record is written before the answer is known. */
export function createPipeline(stages: readonly Stage[], record: Recorder): Inspect {
  return async function inspect(call) {
    let refusal: GatewayError | undefined;
    try {
      for (const stage of stages) {
        const running = stage.run(call);
        if (running) await running;
        if (call.verdict) break;
      }
    } catch (error) {
      refusal = toGatewayError(error);
      call.verdict = undefined;
    }
    if (!refusal) call.verdict ??= failClosed;
    await record(call, refusal);
    if (refusal || !call.verdict) throw refusal;
    return call.verdict;
  };
}
