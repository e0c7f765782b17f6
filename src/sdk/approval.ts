import { type ApprovalResult, isUuid, toApprovalResult } from './answers.ts';
import { type Ask, isPassing, timeoutMsMax } from './connection.ts';
import { PosternError } from './errors.ts';
import { pause, within } from './time.ts';

export interface WaitOptions {
  /** Milliseconds to wait; 600,000 by default, as long as approvals live by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Seconds of one long poll. */
const pollSecondsMax = 30;
/** Milliseconds for the answer of a poll to come, after the poll's own time. */
const graceMs = 10_000;
/** Milliseconds between polls. Answers that come at once, undecided, must not be asked for without rest. */
const restMs = 250;
/** Failures in a row after which the wait ends. People take minutes, in which a gateway may restart. */
const failuresMax = 6;
const failureRestMsMax = 8000;

/**
 * Resolves when the approval is decided or expired, or with `pending` when `timeoutMs` is over. A gateway
 * that is slow to answer then is waited for ten seconds more, and no longer.
 */
export async function waitForApproval(
  ask: Ask,
  approvalId: string,
  { timeoutMs = 600_000, signal }: WaitOptions = {},
): Promise<ApprovalResult> {
  if (!isUuid(approvalId)) throw new TypeError('approvalId must be a UUID.');
  const endsAtMs = performance.now() + within('timeoutMs', timeoutMs, 0, 24 * timeoutMsMax);
  const look = async (pollSeconds: number): Promise<ApprovalResult> => {
    const poll = pollSeconds === 0 ? 'status' : `wait?timeout=${pollSeconds}`;
    const path = `/v1/approvals/${approvalId}/${poll}`;
    const answer = await ask({ method: 'GET', path, signal, timeoutMs: pollSeconds * 1000 + graceMs });
    return toApprovalResult(answer, approvalId);
  };
  let failures = 0;
  for (;;) {
    const leftMs = endsAtMs - performance.now();
    // Only whole seconds can be asked for. A rest below one second is slept, and then the approval is looked
    // at once more.
    const pollSeconds = Math.min(pollSecondsMax, Math.max(0, Math.floor(leftMs / 1000)));
    let restsMs = Math.min(restMs, Math.max(0, leftMs));
    try {
      const found = await look(pollSeconds);
      if (found.status !== 'pending' || performance.now() >= endsAtMs) return found;
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!mayPass(error) || failures >= failuresMax || performance.now() >= endsAtMs) throw error;
      const asked = error.retryAfterMs ?? restMs * 2 ** failures;
      restsMs = Math.min(asked, failureRestMsMax, Math.max(0, endsAtMs - performance.now()));
    }
    await pause(restsMs, signal);
  }
}

/** Tells whether a failure may pass. It may also where many wait with one key, since a place becomes free. */
const mayPass = (error: unknown): error is PosternError =>
  isPassing(error) ||
  (error instanceof PosternError && ['RATE_LIMITED', 'GATEWAY_TIMEOUT'].includes(error.code));
