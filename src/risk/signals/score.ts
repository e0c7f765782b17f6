import type { Band, InspectedCall, RiskPart, Signal } from '../../core/call.ts';
import { trustMin } from './low-trust.ts';

/** The weights of engines by name. They need not add up to 1. */
export type SignalWeights = Readonly<Record<string, number>>;
/** The lower bound of each band above LOW. */
export type BandBounds = Readonly<Record<'MEDIUM' | 'HIGH' | 'CRITICAL', number>>;

export const defaultWeights: SignalWeights = {
  classifier: 0.3,
  threat_intel: 0.2,
  baseline: 0.15,
  correlation: 0.15,
  semantic: 0.1,
};

const misdirectedSecretFloor = 0.6;
/** The least score of a call to what a threat feed lists, whatever else is known of the call. */
const threatFloor = 0.75;
/** The least score of a call that carries content that was read a moment before out of the organisation. */
const carriedFloor = 0.75;
/**
 * The least scores for a tool that is new, changed or bad, and for one that is bad as well as new or changed.
 */
const driftFloor = 0.25;
const turnedToolFloor = 0.5;
/** The least score of a call to a host whose name carries data. */
const encodedHostFloor = 0.5;

/** Returns the parts of a weighted mean, 0 to 1 together. An engine without a signal has no part. */
export function riskParts(signals: readonly Signal[], weights: SignalWeights): readonly RiskPart[] {
  if (signals.length === 0) return noParts;
  let total = 0;
  for (const weight of Object.values(weights)) total += weight;
  const gravest = new Map<string, number>();
  for (const { engine, score } of signals) gravest.set(engine, Math.max(gravest.get(engine) ?? 0, score));
  return [...gravest].map(([engine, score]) => ({
    engine,
    part: total === 0 ? 0 : ((weights[engine] ?? 0) * score) / total,
  }));
}

const noParts: readonly RiskPart[] = Object.freeze([]);

const sumOf = (parts: readonly RiskPart[]): number => parts.reduce((sum, { part }) => sum + part, 0);

/**
 * Returns the score: the weighted mean, moved by the trust in the agent. It is at least what a signal or a
 * finding stands for by itself, whatever the weights. `parts` are those of the mean, where the caller knows
 * them already.
 */
export function riskOf(
  signals: readonly Signal[],
  weights: SignalWeights,
  { modifier, floor }: { readonly modifier: number; readonly floor: number } = { modifier: 0, floor: 0 },
  parts: readonly RiskPart[] = riskParts(signals, weights),
): number {
  const moved = sumOf(parts) + modifier;
  let score = Math.max(floor, Math.min(1, Math.max(0, moved)));
  for (const signal of signals) score = Math.max(score, floorOfSignal(signal));
  return round(score);
}

const round = (score: number): number => Math.round(score * 1000) / 1000;

const wholeTrustModifier = -0.1;
const noTrustModifier = 0.2;

/** The number of calls after which a trusted agent has its whole bonus. */
const provenCalls = 500;

/**
 * Returns what trust adds to the score. It goes from -0.1 with whole trust over 0 at `trustMin` to 0.2
 * without any trust. Trust that nothing has been built on yet is no bonus: the bonus grows with the calls
 * that were let out.
 */
export const trustModifier = (trust: number, calls: number): number =>
  round(
    trust >= trustMin
      ? (wholeTrustModifier * Math.min(1, calls / provenCalls) * (trust - trustMin)) / (1 - trustMin)
      : (noTrustModifier * (trustMin - trust)) / trustMin,
  );

function floorOfSignal({ name, score }: Signal): number {
  if (name === 'ENCODED_HOST') return encodedHostFloor;
  if (name === 'THREAT_INTEL_MATCH') return threatFloor;
  if (name === 'READ_THEN_WRITE' || name === 'CROSS_AGENT_EXFIL') return score === 1 ? carriedFloor : 0;
  if (name !== 'MCP_TOOL_DRIFT') return 0;
  return score === 1 ? turnedToolFloor : driftFloor;
}

/**
 * Returns the least score for the findings of a call. It is above 0 for a certain secret on its way to a host
 * that is not its vendor's.
 */
export function floorOf(call: Pick<InspectedCall, 'findings'>): number {
  return call.findings.some((it) => it.class === 'SECRETS' && it.confidence === 'high' && !it.atHome)
    ? misdirectedSecretFloor
    : 0;
}

export function bandOf(score: number, { CRITICAL, HIGH, MEDIUM }: BandBounds): Band {
  if (score >= CRITICAL) return 'CRITICAL';
  if (score >= HIGH) return 'HIGH';
  return score >= MEDIUM ? 'MEDIUM' : 'LOW';
}
