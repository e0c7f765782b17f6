import type { InspectedCall, RiskEvidence, Signal } from '../../core/call.ts';

/** Judges one kind of risk by the earlier stages' findings: at most one signal, 0 to 1. Never decides. */
export interface SignalEngine {
  readonly name: string;
  assess(call: InspectedCall, evidence: RiskEvidence): Signal | undefined;
}
