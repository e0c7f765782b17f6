import type { Call, Verdict } from '../core/call.ts';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { safely } from '../core/safe-name.ts';
import type { MaybePromise } from '../state/store.ts';

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
  explanation: [safely`No stage of the pipeline decided this call, so it is denied.`],
  matchedRules: [],
  decidedBy: undefined,
  tags: [],
  escalateTo: [],
  violations: [],
  wouldBe: undefined,
  sanitizedBody: undefined,
  approval: undefined,
};

/** The loop: every entrance hands its calls to what this returns. The record is written before the answer is known. */
export function createPipeline(stages: readonly Stage[], record: Recorder): Inspect {
  function conclude(call: Call, refusal: GatewayError | undefined): Promise<Verdict> {
    try {
      return record(call, refusal).then(() => {
        if (refusal || !call.verdict) throw refusal;
        return call.verdict;
      });
    } catch (error) {
      return Promise.reject(toGatewayError(error));
    }
  }
  return function inspect(call) {
    const judged = judge(stages, call);
    return judged instanceof Promise
      ? judged.then((refusal) => conclude(call, refusal))
      : conclude(call, judged);
  };
}

/** Runs the stages until one of them decides or refuses. Answers at once where none of them had to wait. */
function judge(stages: readonly Stage[], call: Call, from = 0): MaybePromise<GatewayError | undefined> {
  try {
    for (let i = from; i < stages.length; i++) {
      const running = stages[i]?.run(call);
      if (running) {
        return running.then(
          () => (call.verdict ? undefined : judge(stages, call, i + 1)),
          (error: unknown) => refused(call, error),
        );
      }
      if (call.verdict) return undefined;
    }
  } catch (error) {
    return refused(call, error);
  }
  call.verdict = failClosed;
  return undefined;
}

/** Whatever a stage has said before it failed does not stand. */
function refused(call: Call, error: unknown): GatewayError {
  call.verdict = undefined;
  return toGatewayError(error);
}
