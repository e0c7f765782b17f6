import type { Call, Signal } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
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
import type { Tenants } from '../../tenants/tenants.ts';
import type { FindCarriedReads } from '../facts/carried-reads.ts';
import type { FindThreats } from '../facts/threats.ts';
import type { Stage } from '../pipeline.ts';

export interface WeighOptions {
  readonly engines: readonly SignalEngine[];
  readonly weights: SignalWeights;
  readonly bounds: BandBounds;
  readonly tenants: Pick<Tenants, 'find'>;
  readonly findThreats: FindThreats;
  readonly findCarriedReads: FindCarriedReads;
  readonly hashSecrets: HashSecrets;
  readonly privilegesOf: PrivilegesOf;
}

/** How risky is it? Signals give a score from 0 to 1 and its band. No I/O; never decides. */
export function assessRiskStage(options: WeighOptions): Stage {
  const { engines, weights, bounds, tenants, findThreats, findCarriedReads, hashSecrets, privilegesOf } =
    options;
  /** Nearly all calls are clean. */
  function signalsOf(call: Call): Signal[] {
    const signals: Signal[] = [];
    for (const engine of engines) {
      const signal = engine.weigh(call);
      if (signal) signals.push(signal);
    }
    return signals;
  }

  return {
    name: 'weigh',
    run(call) {
      const { identity, operation } = call;
      const tenant = identity && tenants.find(identity.tenantId);
      if (!tenant || !operation) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      call.threats = findThreats(call);
      call.isExternal = addressesOutside(call, tenant);
      call.privileges = privilegesOf(operation);
      call.secretHashes = hashSecrets(call);
      call.carriedReads = findCarriedReads(call, tenant);
      call.signals = signalsOf(call);
      call.trustModifier = trustModifier(call.trustScore, call.habits.calls);
      call.riskFloor = floorOf(call);
      const { signals, trustModifier: modifier, riskFloor: floor } = call;
      call.riskParts = riskParts(signals, weights);
      call.riskScore = riskOf(signals, weights, { modifier, floor }, call.riskParts);
      call.riskBand = bandOf(call.riskScore, bounds);
      // Once the findings are cut out, the classifier has nothing left to say and its floor falls away.
      const residual = signals.length === 0 ? signals : signals.filter((it) => it.engine !== 'classifier');
      call.residualBand = bandOf(riskOf(residual, weights, { modifier, floor: 0 }), bounds);
    },
  };
}
