import type { Call } from '../call.ts';
import type { TrustMark } from '../history.ts';
import { burstFrom } from '../signals/volume-burst.ts';
import type { TrustTerms } from '../state/store.ts';

/** What each cause takes, 0 to 1 of the whole trust. */
export interface TrustLosses {
  readonly denial: number;
  readonly analystDenial: number;
  readonly threatHit: number;
  readonly anomaly: number;
}

/** How trust comes back, as the state counts it. */
export const trustTermsOf = ({
  recovery,
  recoveryCalls,
}: {
  readonly recovery: number;
  readonly recoveryCalls: number;
}): TrustTerms => ({ parts: toParts(recovery), calls: recoveryCalls });

const partsPerTrust = 10_000;
export const toParts = (trust: number): number => Math.round(trust * partsPerTrust);

/** An anomaly graver than a new host, which is all in a day's work for who browses: what is a little odd only weighs. */
const anomalyMin = 0.6;

/** What is held against the agent for a call that was decided. Nothing is in monitor mode, for an agent that is suspended or whose tenant is, and for what strangers do. */
export function trustLossOf(call: Call, losses: TrustLosses): readonly TrustMark[] {
  const { verdict, isMonitored, isAnonymous, receivedAtMs: atMs, traceId, signals } = call;
  if (!verdict || isMonitored || isAnonymous || call.agentStatus !== 'active') return none;
  const mark = (cause: TrustMark['cause'], trust: number): TrustMark => ({
    cause,
    parts: toParts(trust),
    atMs,
    traceId,
  });
  const marks: TrustMark[] = [];
  if (call.threats.some((it) => it.location === 'target')) marks.push(mark('threat', losses.threatHit));
  else if (verdict.decision === 'DENY') marks.push(mark('denial', losses.denial));
  if (signals.some((it) => it.name === 'BASELINE_ANOMALY' && it.score >= anomalyMin) || isStartOfBurst(call))
    marks.push(mark('anomaly', losses.anomaly));
  return marks.filter((it) => it.parts > 0);
}

/** Of a burst one call counts, not each. */
const isStartOfBurst = ({ habits }: Call): boolean => habits.lately === burstFrom(habits);

const none: readonly never[] = Object.freeze([]);
