import type { CredentialHomes } from '../credentials/credential-homes.ts';
import type { Stage } from './pipeline.ts';
import { type AdmitOptions, admit } from './stages/admit.ts';
import { atHome } from './stages/at-home.ts';
import { type DecideOptions, decideStage } from './stages/decide.ts';
import { identify } from './stages/identify.ts';
import { type ReadOptions, read } from './stages/read.ts';
import { type UnderstandOptions, understand } from './stages/understand.ts';
import { assessRiskStage, type WeighOptions } from './stages/weigh.ts';

export type StageOptions = AdmitOptions &
  ReadOptions &
  WeighOptions &
  DecideOptions &
  UnderstandOptions & { readonly homes: CredentialHomes };

/** The way of every call. The order is the design: cheap before dear, and nothing is read of a call that may not be made. */
export function createStages(options: StageOptions): readonly Stage[] {
  const judging = [assessRiskStage(options), decideStage(options)];
  return [identify(), understand(options), admit(options), read(options), atHome(options.homes, judging)];
}
