import type { DecidedCall, UnadmittedCall } from '../core/call.ts';
import type { CredentialHomes } from '../credentials/credential-homes.ts';
import { Stages } from './pipeline.ts';
import { type AdmitOptions, admit } from './stages/admit.ts';
import { type AssessOptions, assessRiskStage } from './stages/assess-risk.ts';
import { type ClassifyOptions, classify } from './stages/classify.ts';
import { bindCredentials, markCredentials } from './stages/credential-homes.ts';
import { type DecideOptions, decideStage } from './stages/decide.ts';
import { identify } from './stages/identify.ts';
import { type InspectOptions, inspect } from './stages/inspect.ts';

type StageOptions = AdmitOptions &
  InspectOptions &
  AssessOptions &
  DecideOptions &
  ClassifyOptions & { readonly homes: CredentialHomes };

/**
 * Returns the stages in their order. That order is the design: cheap before costly, and a call that may not
 * be made is not read.
 */
export function createStages(options: StageOptions): Stages<UnadmittedCall, DecidedCall> {
  const { homes } = options;
  const [assess, decide] = [assessRiskStage(options), decideStage(options)];
  return Stages.first(identify())
    .andThen(classify(options))
    .andThen(admit(options))
    .andThen(inspect(options))
    .andThen(markCredentials(homes))
    .andThen(assess)
    .andThen(decide)
    .andThen(bindCredentials(homes, assess, decide));
}
