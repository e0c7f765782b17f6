import type { Call, Signal } from '../../call.ts';
import type { SignalEngine } from '../../signals/index.ts';
import { type BandBounds, bandOf, floorOf, riskOf, type Weights } from '../../signals/score.ts';
import type { Stage } from '../pipeline.ts';
import type { FindThreats } from '../threats.ts';

export interface WeighOptions {
  readonly engines: readonly SignalEngine[];
  readonly weights: Weights;
  readonly bounds: BandBounds;
  readonly findThreats: FindThreats;
}

/** How risky is it? Signals give a score from 0 to 1 and its band. No I/O; never decides. */
export function weigh({ engines, weights, bounds, findThreats }: WeighOptions): Stage {
  /** Nearly all calls are clean. */
  const scoreOf = (signals: readonly Signal[]): number =>
    signals.length === 0 ? 0 : riskOf(signals, weights);

  return {
    name: 'weigh',
    run(call: Call) {
      call.threats = findThreats(call);
      const signals: Signal[] = [];
      for (const engine of engines) {
        const signal = engine.weigh(call);
        if (signal) signals.push(signal);
      }
      call.signals = signals;
      call.riskScore = round(Math.max(scoreOf(signals), floorOf(call)));
      call.riskBand = bandOf(call.riskScore, bounds);
      // Once the findings are cut out, the classifier has nothing left to say and its floor falls away.
      const residual = signals.filter((it) => it.engine !== 'classifier');
      call.residualBand = bandOf(scoreOf(residual), bounds);
    },
  };
}

const round = (score: number): number => Math.round(score * 1000) / 1000;
