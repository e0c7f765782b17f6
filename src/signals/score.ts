import { type Band, bands, type Call, type Signal } from '../call.ts';

/** By engine name; they need not add up to 1. */
export type Weights = Readonly<Record<string, number>>;
/** The lower bound of each band above LOW. */
export type BandBounds = Readonly<Record<'MEDIUM' | 'HIGH' | 'CRITICAL', number>>;

export const defaultWeights: Weights = {
  classifier: 0.3,
  threat_intel: 0.2,
  baseline: 0.15,
  correlation: 0.15,
  semantic: 0.1,
};

const misdirectedSecretFloor = 0.6;
/** Whatever else is known of the call. */
const threatFloor = 0.75;
/** Of a tool that has changed, or that gives away what it should not have; and of one that has changed for the worse. */
const driftFloor = 0.25;
const turnedToolFloor = 0.5;

/** The weighted mean of what the engines report, 0 to 1; an engine that is silent reports 0. */
export function weightedScore(signals: readonly Signal[], weights: Weights): number {
  let sum = 0;
  let total = 0;
  for (const weight of Object.values(weights)) total += weight;
  for (const signal of signals) sum += (weights[signal.engine] ?? 0) * signal.score;
  return total === 0 ? 0 : Math.min(1, Math.max(0, sum / total));
}

/** The weighted mean, but not less than what a signal stands for by itself, whatever the weights. */
export const riskOf = (signals: readonly Signal[], weights: Weights): number =>
  Math.max(weightedScore(signals, weights), ...signals.map(floorOfSignal));

function floorOfSignal({ name, score }: Signal): number {
  if (name === 'THREAT_INTEL_MATCH') return threatFloor;
  if (name !== 'MCP_TOOL_DRIFT') return 0;
  return score === 1 ? turnedToolFloor : driftFloor;
}

/** A secret that nobody could mistake, on its way to a host that is not its vendor's, is at least this grave. */
export function floorOf(call: Call): number {
  return call.findings.some((it) => it.class === 'SECRETS' && it.confidence === 'high' && !it.atHome)
    ? misdirectedSecretFloor
    : 0;
}

export function bandOf(score: number, bounds: BandBounds): Band {
  return bands.findLast((band) => band !== 'LOW' && score >= bounds[band]) ?? 'LOW';
}
