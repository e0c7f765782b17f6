import type { TenantConfig } from '../../config/schema.ts';
import { type AssessedCall, DecidedCall, type Verdict } from '../../core/call.ts';
import { safely } from '../../core/safe-name.ts';
import { withCuts } from '../../inspect/parts/sanitize.ts';
import type { Rules } from '../../tenants/policy-book.ts';
import { createJudge } from '../judge.ts';
import { afterGrant, type Enforceable, incidentsOf } from '../opinion.ts';
import type { Stage } from '../pipeline.ts';
import { toVerdict } from '../verdict.ts';

export interface DecideMessageOptions {
  readonly policies: Rules;
  readonly mode: 'enforce' | 'monitor';
}

/**
 * Creates the stage that decides about a message of an open call. A message is judged as a call is, but
 * nobody is asked. What would be held is denied, unless the approval of the opening call covers it.
 */
export function decideMessage({
  policies,
  mode,
}: DecideMessageOptions): Stage<AssessedCall<TenantConfig>, DecidedCall<TenantConfig>> {
  const judge = createJudge(mode);
  return {
    name: 'decide',
    async run(call) {
      const { rules } = await policies.rulesFor(call.identity.tenantId);
      const { opinion, isMonitored } = await withCuts(() => judge(call, rules));
      const settled =
        isMonitored || opinion.decision !== 'REQUIRE_APPROVAL' ? opinion : unheld(call, opinion);
      return new DecidedCall(call, {
        verdict: toVerdict(call, settled),
        isMonitored,
        incidents: isMonitored ? [] : incidentsOf(call, settled),
      });
    },
  };
}

/**
 * Returns the opinion without a hold. An approved opening covers what the same rule would hold, but nothing
 * that shows only now.
 */
function unheld(call: AssessedCall, opinion: Enforceable): Enforceable {
  const granted = call.message?.opening.verdict;
  if (granted && isCovered(granted, toVerdict(call, opinion))) return afterGrant(opinion);
  const { sanitized: _, ...held } = opinion;
  return {
    ...held,
    decision: 'DENY',
    reasonCodes: ['APPROVAL_IMPOSSIBLE', ...opinion.reasonCodes],
    explanation: [
      safely`A message of an open connection cannot wait for an approval; send it as a call of its own.`,
      ...opinion.explanation,
    ],
  };
}

function isCovered(granted: Verdict, held: Verdict): boolean {
  const rule = held.decidedBy;
  return (
    granted.reasonCodes.includes('RECENT_APPROVAL_GRANT') &&
    rule !== undefined &&
    granted.decidedBy?.policyId === rule.policyId &&
    granted.decidedBy.version === rule.version &&
    granted.decidedBy.ruleId === rule.ruleId &&
    held.reasonCodes.every((it) => granted.reasonCodes.includes(it))
  );
}
