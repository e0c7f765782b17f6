import type { CallSoFar, DecidedCall } from '../core/call.ts';
import type { GatewayError, ProblemCode } from '../core/errors.ts';

/** Follows calls to the end of their answer, for logs and traces. It judges nothing, and must not throw. */
export interface CallWatch {
  /**
   * Notes that a call, or a message of an open one, was recorded. `begin` follows for a call that goes out.
   */
  decided(call: CallSoFar, refusal: GatewayError | undefined): void;
  /** Notes that a decided call goes out now. */
  begin(call: DecidedCall): GoingCall;
}

/** A call that is out. */
export interface GoingCall {
  /** Names and values in turn. The request has them in place of its own fields of these names. */
  readonly fields: readonly string[];
  /** Notes that the answer has ended, or that there is none. Only the first time counts. */
  ended(end: CallEnd): void;
}

export interface CallEnd {
  /** The status that the upstream answered; 0 where there was none. */
  readonly status: number;
  /** The code of the failure; absent where there was none. */
  readonly code?: ProblemCode;
}

/** Returns several watches as one; undefined where there are none, so that nothing is paid for them. */
export function joinedWatch(all: readonly CallWatch[]): CallWatch | undefined {
  const [first, ...others] = all;
  if (others.length === 0) return first;
  return {
    decided: (call, refusal) => all.forEach((it) => void it.decided(call, refusal)),
    begin(call) {
      const going = all.map((it) => it.begin(call));
      return {
        fields: going.flatMap((it) => it.fields),
        ended: (end) => going.forEach((it) => void it.ended(end)),
      };
    },
  };
}
