import type { ClaimedMessage, Settlement } from '../state/store.ts';
import type { DeliveryOutcome } from './channel.ts';

/* Decides what becomes of a message after a send. */

export interface Timings {
  /** Milliseconds within which messages are seen that other nodes have put into the queue. */
  readonly pollMs: number;
  /** Milliseconds of one send, connection included. */
  readonly sendTimeoutMs: number;
  /** Milliseconds of a claim, longer than a send and its settlement take. */
  readonly leaseMs: number;
  /** Milliseconds within which the first retry comes; then always twice as many, up to the longest. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** Milliseconds for which a failing channel is left alone, then twice as long, up to the longest. */
  readonly pauseMinMs: number;
  readonly pauseMaxMs: number;
  /** Milliseconds that a destination may ask to wait. */
  readonly retryAfterMaxMs: number;
  readonly giveUpAfterMs: number;
}

const minute = 60_000;
const hour = 60 * minute;

export const timings: Timings = {
  pollMs: 1_000,
  sendTimeoutMs: 20_000,
  leaseMs: 45_000,
  retryMinMs: 5_000,
  retryMaxMs: hour,
  pauseMinMs: 15_000,
  pauseMaxMs: 5 * minute,
  retryAfterMaxMs: hour,
  giveUpAfterMs: 24 * hour,
};

/** Failures in a row after which a channel is left alone. */
export const pauseFrom = 5;

/** The outcome of a send that was cut off. Its message goes back to all as if it had not been claimed. */
export const released = { kind: 'released' } as const;

export type SendOutcome = DeliveryOutcome | typeof released;

/** The time, the dice and the timings by which a message is settled. */
interface SettlementTerms {
  readonly nowMs: number;
  /** Source of numbers from 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly timings: Timings;
}

export function toSettlement(
  { id, channel, attempts, queuedAtMs }: ClaimedMessage,
  claimedAtMs: number,
  outcome: SendOutcome,
  terms: SettlementTerms,
): Settlement {
  const { nowMs, timings } = terms;
  const base = { id, channel, attempts, claimedAtMs, nowMs };
  if (outcome.kind === 'delivered' || outcome.kind === 'released') return { ...base, outcome };
  const { reason } = outcome;
  if (outcome.kind === 'refused') return { ...base, outcome: { kind: 'dead', reason, hasAnswered: true } };
  if (nowMs - queuedAtMs >= timings.giveUpAfterMs)
    return { ...base, outcome: { kind: 'dead', reason, hasAnswered: false } };
  return { ...base, outcome: retry(attempts, outcome, terms) };
}

function retry(
  attempts: number,
  { reason, afterMs }: Extract<DeliveryOutcome, { kind: 'retry' }>,
  { nowMs, random, timings }: SettlementTerms,
): Settlement['outcome'] {
  const { retryMinMs, retryMaxMs, pauseMinMs, pauseMaxMs, retryAfterMaxMs } = timings;
  // Full jitter keeps what failed together from coming again together.
  const delayMs = random() * Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(attempts - 1, 30));
  const askedMs = Math.min(Math.max(afterMs ?? 0, 0), retryAfterMaxMs);
  const pausedUntilMs = askedMs > 0 ? Math.ceil(nowMs + askedMs) : 0;
  const dueAtMs = Math.max(Math.ceil(nowMs + delayMs), pausedUntilMs);
  return { kind: 'retry', dueAtMs, reason, pausedUntilMs, pauseFrom, pauseMinMs, pauseMaxMs };
}
