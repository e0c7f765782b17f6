import type { Verdict } from '../../src/call.ts';
import { ownName } from '../../src/safe-name.ts';

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
