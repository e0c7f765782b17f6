import { type CallSoFar, DecidedCall, soFar, type UnadmittedCall } from '../core/call.ts';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import { after, type MaybePromise } from '../util/maybe-promise.ts';

/** Tells of a call that a stage refuses rather than judges. A record can be made of `reached`. */
export class RefusedCall {
  readonly reached: CallSoFar;
  readonly error: GatewayError;

  constructor(reached: CallSoFar, error: GatewayError) {
    this.reached = reached;
    this.error = error;
  }
}

/**
 * A step of the way. It takes a call in one state, and returns it in the next one or refused. It receives
 * what it needs when it is made, and changes nothing of the call that it is given. What it throws refuses the
 * call in the state that it had. A stage that need not wait returns at once. Then the call stays on the same
 * turn of the event loop.
 */
export interface Stage<In, Out> {
  readonly name: string;
  run(call: In): MaybePromise<Out | RefusedCall>;
}

/**
 * A stage among others. Only `Stages` puts stages together, and each takes what the one before it returns.
 */
type AnyStage = Stage<never, object>;

/**
 * Chains stages, each of which takes what the one before it returns. A missing or misplaced stage does not
 * compile.
 */
export class Stages<In, Out extends object> {
  readonly all: readonly AnyStage[];

  private constructor(all: readonly AnyStage[]) {
    this.all = all;
  }

  static first<In, Out extends object>(stage: Stage<In, Out>): Stages<In, Out> {
    return new Stages([stage]);
  }

  andThen<Next extends object>(stage: Stage<Out, Next>): Stages<In, Next> {
    return new Stages([...this.all, stage]);
  }

  /** Returns the same stages, each with something around it. */
  map(around: (stage: AnyStage) => AnyStage): Stages<In, Out> {
    return new Stages(this.all.map(around));
  }
}

/**
 * Leaves the record of a call that was decided, or refused with `refusal`. Rejects when it could not be
 * written.
 */
export type Recorder = (call: CallSoFar, refusal: GatewayError | undefined) => Promise<void>;

/**
 * Judges a call and returns it with its verdict. Rejects with a `GatewayError` when the call is refused or
 * could not be judged. Then the call must not go out.
 */
export type Inspect = (call: UnadmittedCall) => Promise<DecidedCall>;

/** Makes the loop that every entrance uses. The record is written before the answer is known. */
export function createPipeline(stages: Stages<UnadmittedCall, DecidedCall>, record: Recorder): Inspect {
  function conclude(judged: DecidedCall | RefusedCall): Promise<DecidedCall> {
    try {
      if (judged instanceof RefusedCall) {
        const { reached, error } = judged;
        return record(reached, error).then(() => {
          throw error;
        });
      }
      return record(judged, undefined).then(() => judged);
    } catch (error) {
      return Promise.reject(toGatewayError(error));
    }
  }
  return function inspect(call) {
    const judged = runStages(stages, call);
    return judged instanceof Promise ? judged.then(conclude) : conclude(judged);
  };
}

/** Runs the stages until one refuses the call. Never throws. Returns at once if none had to wait. */
const runStages = <Out extends object>(
  { all }: Stages<UnadmittedCall, Out>,
  call: UnadmittedCall,
): MaybePromise<Out | RefusedCall> => runFrom(all, 0, call) as MaybePromise<Out | RefusedCall>;

function runFrom(all: readonly AnyStage[], from: number, call: object): MaybePromise<object> {
  let state = call;
  for (let i = from; i < all.length; i++) {
    const reached = state;
    try {
      const next = all[i]?.run(reached as never) ?? reached;
      if (next instanceof Promise) {
        return next.then(
          (it) => (it instanceof RefusedCall ? it : runFrom(all, i + 1, it)),
          (error: unknown) => refused(reached, error),
        );
      }
      if (next instanceof RefusedCall) return next;
      state = next;
    } catch (error) {
      return refused(reached, error);
    }
  }
  return state;
}

/** Returns the call as refused. What was decided before a stage failed does not stand. */
function refused(call: object, error: unknown): RefusedCall {
  if (!(call instanceof DecidedCall))
    return new RefusedCall(soFar(call as UnadmittedCall), toGatewayError(error));
  const { verdict: _, ...reached } = call;
  return new RefusedCall(reached, toGatewayError(error));
}

/** Hands what a stage has returned to the next one, unless the stage has refused the call. */
export const unlessRefused = <In extends object, Out>(
  judged: MaybePromise<In | RefusedCall>,
  next: (call: In) => MaybePromise<Out | RefusedCall>,
): MaybePromise<Out | RefusedCall> => after(judged, (it) => (it instanceof RefusedCall ? it : next(it)));
