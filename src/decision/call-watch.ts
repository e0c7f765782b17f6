import type { CallSoFar, DecidedCall } from '../core/call.ts';
import type { GatewayError, ProblemCode } from '../core/errors.ts';

/** Follows calls to the end of their answer, for logs and traces. It judges nothing, and must not throw. */
export interface CallWatch {
  /** A call, or a message of an open one, was recorded; `begin` follows for a call that goes out. */
  decided(call: CallSoFar, refusal: GatewayError | undefined): void;
  /** A decided call goes out now. */
  begin(call: DecidedCall): GoingCall;
}

/** A call that is out. */
export interface GoingCall {
  /** Flat fields that its request has in place of its own of these names. */
  readonly fields: readonly string[];
  /** The answer has ended, or there is none. Only the first time counts. */
  ended(end: CallEnd): void;
}

export interface CallEnd {
  /** The upstream's status; 0 where there was none. */
  readonly status: number;
  /** The failure, where there was one. */
  readonly code?: ProblemCode;
}

/** Several as one; undefined where there is none, so that nothing is paid for it. */
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
