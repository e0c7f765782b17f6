import type { TenantConfig } from '../../config/schema.ts';
import {
  AssessedCall,
  type InspectedCall,
  type Risk,
  type RiskEvidence,
  type Signal,
} from '../../core/call.ts';
import type { HashSecrets } from '../../credentials/secret-hashes.ts';
import type { SignalEngine } from '../../risk/signals/index.ts';
import type { PrivilegesOf } from '../../risk/signals/privileges.ts';
import {
  type BandBounds,
  bandOf,
  floorOf,
  riskOf,
  riskParts,
  type SignalWeights,
  trustModifier,
} from '../../risk/signals/score.ts';
import { addressesOutside } from '../../tenants/external.ts';
import type { FindCarriedReads } from '../facts/carried-reads.ts';
import type { FindThreats } from '../facts/threats.ts';
import type { Stage } from '../pipeline.ts';

export interface AssessOptions {
  readonly engines: readonly SignalEngine[];
  readonly weights: SignalWeights;
  readonly bounds: BandBounds;
  readonly findThreats: FindThreats;
  readonly findCarriedReads: FindCarriedReads;
  readonly hashSecrets: HashSecrets;
  readonly privilegesOf: PrivilegesOf;
}

/**
 * Creates the stage that makes a score from 0 to 1, and its band, of the signals. It does no I/O, and never
 * refuses or decides.
 */
export function assessRiskStage(options: AssessOptions) {
  const { engines, findThreats, findCarriedReads, hashSecrets, privilegesOf } = options;

  function evidenceOf(call: InspectedCall<TenantConfig>): RiskEvidence {
    const isExternal = addressesOutside(call, call.tenant);
    return {
      threats: findThreats(call),
      isExternal,
      privileges: privilegesOf(call.operation),
      secretHashes: hashSecrets(call),
      carriedReads: findCarriedReads(call, isExternal),
    };
  }

  /** Returns the signals of a call. Nearly all calls have none. */
  function signalsOf(call: InspectedCall, evidence: RiskEvidence): Signal[] {
    const signals: Signal[] = [];
    for (const engine of engines) {
      const signal = engine.assess(call, evidence);
      if (signal) signals.push(signal);
    }
    return signals;
  }

  return {
    name: 'assess-risk',
    run(call: InspectedCall<TenantConfig>) {
      const evidence = evidenceOf(call);
      const signals = signalsOf(call, evidence);
      const { trustScore, habits } = call.history;
      const share = { modifier: trustModifier(trustScore, habits.calls), floor: floorOf(call) };
      return new AssessedCall(call, evidence, scored(signals, share, options));
    },
  } satisfies Stage<InspectedCall<TenantConfig>, AssessedCall<TenantConfig>>;
}

/**
 * Returns the risk of these signals, moved by the agent's trust. It is at least what the findings stand for.
 */
export function scored(
  signals: readonly Signal[],
  { modifier, floor }: { readonly modifier: number; readonly floor: number },
  { weights, bounds }: Pick<AssessOptions, 'weights' | 'bounds'>,
): Risk {
  const parts = riskParts(signals, weights);
  const score = riskOf(signals, weights, { modifier, floor }, parts);
  // Once the findings are cut out, the classifier has nothing left to report, and the floor falls away.
  const residual = signals.length === 0 ? signals : signals.filter((it) => it.engine !== 'classifier');
  return {
    signals,
    score,
    band: bandOf(score, bounds),
    residualBand: bandOf(riskOf(residual, weights, { modifier, floor: 0 }), bounds),
    parts,
    trustModifier: modifier,
    floor,
  };
}
