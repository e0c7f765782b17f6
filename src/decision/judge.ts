import type { TenantConfig } from '../config/schema.ts';
import { type AssessedCall, type OperationPart, targetsOf } from '../core/call.ts';
import { ownName, safely } from '../core/safe-name.ts';
import type { Facts, PolicySet } from '../policy/index.ts';
import { compileDenylist, type DestinationList } from '../tenants/destination-list.ts';
import { kept } from '../util/kept.ts';
import { CallFacts, noBody } from './facts/facts.ts';
import { withGiven } from './facts/given-facts.ts';
import {
  denial,
  type Enforceable,
  enforceable,
  monitored,
  type Opinion,
  opinionOfPolicy,
  opinionOfPosture,
  outOfScope,
  withoutOwnKeys,
} from './opinion.ts';
import { judgeByPosture } from './posture.ts';
import { strictestOpinion } from './strictest-opinion.ts';
import { shownPart } from './trace/safe-names.ts';
import { classesOf } from './verdict.ts';

interface Judged {
  readonly opinion: Enforceable;
  /** The call is in monitor mode. It passes, and the decision has no consequence. */
  readonly isMonitored: boolean;
}

/**
 * Decides about a call that was read and weighed, as far as that is possible without people. Suspension,
 * denylist, threat feeds, the scope of the key and unreadable content end it. Otherwise the strictest of the
 * policies counts, and where none decides, the posture.
 *
 * SANITIZE makes the redacted body here, so that a body that cannot be redacted becomes a denial. It changes
 * nothing, so that simulation judges by it as well. There `given` may put other facts in the place of the
 * call's own.
 */
export type Judge = (
  call: AssessedCall<TenantConfig>,
  rules: PolicySet,
  given?: (facts: Facts) => Facts,
) => Judged;

const whySuspended = {
  suspended: safely`The agent is suspended; an analyst can reactivate it.`,
  'tenant-suspended': safely`All agents of the tenant are suspended; an administrator can lift that.`,
} as const;

/** Creates the judge. `mode` is the daemon's own. A tenant can be in monitor mode where the daemon is not. */
export function createJudge(mode: 'enforce' | 'monitor'): Judge {
  const denylists = new WeakMap<TenantConfig, DestinationList>();

  function isDenylisted(call: AssessedCall<TenantConfig>): boolean {
    const { tenant } = call;
    if (tenant.denylist.length === 0) return false;
    const denylist = kept(denylists, tenant, () => compileDenylist(tenant.denylist));
    return targetsOf(call).some(denylist);
  }

  return (call, rules, given = asTheyAre) => {
    const { agentStatus, scopeViolations } = call.admission;
    const judged = enforceable(call, opinionOn(call, rules, given, isDenylisted));
    // Suspension and the scope of a key bind in monitor mode as well, because no policy decides them.
    const isBound = agentStatus !== 'active' || scopeViolations.length > 0;
    const isMonitored = (mode === 'monitor' || call.tenant.mode === 'monitor') && !isBound;
    return { opinion: withoutOwnKeys(call, isMonitored ? monitored(judged) : judged), isMonitored };
  };
}

function opinionOn(
  call: AssessedCall<TenantConfig>,
  rules: PolicySet,
  given: Given,
  isDenylisted: (call: AssessedCall<TenantConfig>) => boolean,
): Opinion {
  const { tenant, admission, readings } = call;
  const classes = classesOf(call);
  const { agentStatus } = admission;
  if (agentStatus !== 'active') return denial('AGENT_SUSPENDED', whySuspended[agentStatus]);
  if (isDenylisted(call)) {
    return denial('DENYLISTED', safely`The destination is on the denylist of the tenant.`);
  }
  const threat = tenant.blockThreats && call.evidence.threats.find((it) => it.location === 'target');
  if (threat) {
    return denial(
      'THREAT_INTEL_MATCH',
      safely`The threat feed ${ownName(threat.feed)} lists the destination; an entry in the tenant's allowlist would lift that.`,
    );
  }
  if (admission.scopeViolations.length > 0) return outOfScope(admission.scopeViolations);
  if (readings.unreadable !== undefined) {
    const byHead = readings.isOutOfTime
      ? rules.decide(withoutBody(given(new CallFacts(call, none))))
      : undefined;
    // Such a rule refuses the call whatever stands in its body, and that is the agent's own doing.
    if (byHead?.action === 'DENY' || byHead?.action === 'OPEN_INCIDENT') return opinionOfPolicy(byHead);
    return denial(
      'UNREADABLE',
      safely`The call cannot be read to its end, so it is not let out: ${ownName(readings.unreadable)}.`,
    );
  }
  const opinionOnPart = (part?: OperationPart): Opinion => {
    const byPolicy =
      rules.ruleCount === 0 ? undefined : rules.decide(given(new CallFacts(call, classes, part)));
    if (byPolicy?.action) return opinionOfPolicy(byPolicy);
    return opinionOfPosture(judgeByPosture(call.risk, classes, tenant.posture), byPolicy);
  };
  const whole = opinionOnPart();
  const { parts } = call.operation;
  return parts ? strictestOpinion(whole, parts, opinionOnPart, (it) => shownPart(call, it)) : whole;
}

const none: readonly never[] = Object.freeze([]);

/** Returns the facts as if the call had no body. They are what is known of a call that could not be read. */
const withoutBody = (facts: Facts): Facts => ({
  ...withGiven(facts, {}, noBody(facts.body.bytes)),
  classes: none,
  detectors: none,
});

type Given = (facts: Facts) => Facts;
const asTheyAre: Given = (facts) => facts;
