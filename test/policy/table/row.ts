import type { GivenFacts, GivenRule } from '../facts.ts';

/**
 * What one rule says of some calls, each of which is a case. `edge…`: calls at the border of what the key says, or beside it by
 * one letter, digit or second. The rule denies unless it says otherwise.
 */
export interface Row extends GivenRule {
  readonly holds: readonly GivenFacts[];
  readonly fails: readonly GivenFacts[];
  readonly edgeHolds?: readonly GivenFacts[];
  readonly edgeFails?: readonly GivenFacts[];
}
