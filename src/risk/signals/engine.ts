import type { InspectedCall, RiskEvidence, Signal } from '../../core/call.ts';

/** One judge of risk. It looks at what the stages before it found and may report one signal, 0 to 1; it never decides. */
export interface SignalEngine {
  readonly name: string;
  assess(call: InspectedCall, evidence: RiskEvidence): Signal | undefined;
}
