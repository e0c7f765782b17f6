import type { InspectedCall, RiskEvidence, Signal } from '../../core/call.ts';

/** Judges one kind of risk by what earlier stages found. It never decides. */
export interface SignalEngine {
  readonly name: string;
  assess(call: InspectedCall, evidence: RiskEvidence): Signal | undefined;
}
