import type { Verdict } from '../../src/core/call.ts';
import { ownName } from '../../src/core/safe-name.ts';

/** A verdict that says nothing but its decision. */
export const verdictOf = (decision: Verdict['decision']): Verdict => ({
  decision,
  reasonCodes: [],
  classifications: [],
  explanation: [ownName('The test says so.')],
  matchedRules: [],
  decidedBy: undefined,
  tags: [],
  escalateTo: [],
  violations: [],
  wouldBe: undefined,
  sanitizedBody: undefined,
  approval: undefined,
});
