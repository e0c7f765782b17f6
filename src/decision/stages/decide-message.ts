import type { Call, Verdict } from '../../core/call.ts';
import { GatewayError } from '../../core/errors.ts';
import { safely } from '../../core/safe-name.ts';
import { withCuts } from '../../inspect/parts/sanitize.ts';
import { type Rules, rulesForCall } from '../../tenants/policy-book.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { createJudge } from '../judge.ts';
import { afterGrant, type Enforceable, incidentsOf, toVerdict } from '../opinion.ts';
import type { Stage } from '../pipeline.ts';

export interface DecideMessageOptions {
  readonly tenants: Pick<Tenants, 'find'>;
  readonly policies: Rules;
  readonly mode: 'enforce' | 'monitor';
}

/**
 * Which rule, for a message of an open call? As for a call, save that nobody is asked: what would have to be held is denied, but for what
 * the approval of the opening call covers.
 */
export function decideMessage({ tenants, policies, mode }: DecideMessageOptions): Stage {
  const judge = createJudge(mode);
  return {
    name: 'decide',
    async run(call) {
      const tenant = call.identity && tenants.find(call.identity.tenantId);
      if (!tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      const { rules } = await rulesForCall(policies, call);
      const { opinion, isMonitored } = await withCuts(() => judge(call, tenant, rules));
      call.isMonitored = isMonitored;
      const settled =
        isMonitored || opinion.decision !== 'REQUIRE_APPROVAL' ? opinion : unheld(call, opinion);
      call.verdict = toVerdict(call, settled);
      if (!isMonitored) call.incidents = incidentsOf(call, settled);
    },
  };
}

/** People have approved the opening of the way, and so what the same rule would hold on it, but nothing that shows only now. */
function unheld(call: Call, opinion: Enforceable): Enforceable {
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
