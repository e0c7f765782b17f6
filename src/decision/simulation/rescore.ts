import type { Band } from '../../core/call.ts';
import { type BandBounds, bandOf, riskOf, type SignalWeights } from '../../risk/signals/score.ts';
import type { Trace } from './call-of-trace.ts';

/** The risk of a call. */
export interface ScoredRisk {
  readonly score: number;
  readonly band: Band;
}

/** Returns the recorded risk; undefined for a call that was refused before it was scored. */
export const recordedRisk = ({ explanation, risk_score, risk_band }: Trace): ScoredRisk | undefined =>
  explanation === undefined ? undefined : { score: risk_score, band: risk_band };

/**
 * Returns the risk of a recorded call by these weights and bands. With the old ones it returns what was
 * recorded.
 */
export function rescore(
  { signals = [], risk }: Trace,
  weights: SignalWeights,
  bounds: BandBounds,
): ScoredRisk {
  const score = riskOf(signals, weights, risk);
  return { score, band: bandOf(score, bounds) };
}
