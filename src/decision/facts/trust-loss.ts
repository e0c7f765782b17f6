import type { DecidedCall } from '../../core/call.ts';
import type { TrustMark } from '../../core/history.ts';
import { burstFrom } from '../../risk/signals/volume-burst.ts';
import { isOneTooMany } from '../../state/rules/trust.ts';
import type { TrustTerms } from '../../state/store.ts';
import { excuseOf } from '../excuse.ts';

/** The loss of trust for each cause, from 0 to 1 of the whole trust. */
export interface TrustLosses {
  readonly denial: number;
  readonly analystDenial: number;
  readonly threatHit: number;
  readonly anomaly: number;
}

/** Returns the way in which trust comes back, as the state counts it. */
export const trustTermsOf = ({
  recovery,
  recoveryCalls,
}: {
  readonly recovery: number;
  readonly recoveryCalls: number;
}): TrustTerms => ({ parts: toParts(recovery), calls: recoveryCalls });

const partsPerTrust = 10_000;
export const toParts = (trust: number): number => Math.round(trust * partsPerTrust);

/**
 * The score from which an anomaly can cost trust. A lesser one, such as a new host, is normal for an agent
 * that browses.
 */
const anomalyMin = 0.6;

/** The signals that make an anomaly more than a new turn of the agent's work, and their least score. */
const carriedNames: ReadonlySet<string> = new Set([
  'SENSITIVE_DATA',
  'THREAT_INTEL_MATCH',
  'READ_THEN_WRITE',
  'CROSS_AGENT_EXFIL',
]);
const carriedMin = 0.7;

/**
 * Returns the losses for a decided call. There are none in monitor mode, for suspended agents or tenants, and
 * for strangers. Where the gateway itself failed, only threats count.
 */
export function trustLossOf(call: DecidedCall, losses: TrustLosses): readonly TrustMark[] {
  const { isMonitored, received, admission, history } = call;
  if (isMonitored || received.isAnonymous || admission.agentStatus !== 'active') return none;
  const { receivedAtMs: atMs, traceId } = received;
  return causesOf(call)
    .map((cause) => ({ cause, parts: toParts(losses[lossOf[cause]]), atMs, traceId }))
    .filter((it) => it.parts > 0 && !isOneTooMany(history.trustMarks, it));
}

function causesOf(call: DecidedCall): readonly Cause[] {
  const { verdict } = call;
  const isThreat = call.evidence.threats.some((it) => it.location === 'target');
  // A denial that is the gateway's own doing tells nothing of the agent. Nor does the number of times that
  // its client tries again.
  if (excuseOf(call, verdict)) return isThreat ? ['threat'] : none;
  const causes: Cause[] = [];
  if (isThreat) causes.push('threat');
  else if (verdict.decision === 'DENY') causes.push('denial');
  if (isGraveAnomaly(call) || isStartOfBurst(call)) causes.push('anomaly');
  return causes;
}

type Cause = Exclude<TrustMark['cause'], 'analyst-denial'>;
const lossOf = { denial: 'denial', threat: 'threatHit', anomaly: 'anomaly' } as const;

/**
 * Tells whether an anomaly costs trust. New hosts and operations are normal work. They count only together
 * with something in the call.
 */
const isGraveAnomaly = ({ signals }: DecidedCall): boolean =>
  signals.some((it) => it.name === 'BASELINE_ANOMALY' && it.score >= anomalyMin) &&
  signals.some((it) => carriedNames.has(it.name) && it.score >= carriedMin);

/** Tells whether the call begins a burst. One call of a burst counts, not each. */
const isStartOfBurst = ({ history: { habits } }: DecidedCall): boolean => habits.lately === burstFrom(habits);

const none: readonly never[] = Object.freeze([]);
