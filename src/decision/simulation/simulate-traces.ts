import type { TenantConfig } from '../../config/schema.ts';
import type { Decision, OwnAgent } from '../../core/call.ts';
import { dataClasses } from '../../core/call.ts';
import { ifValid, parseTarget } from '../../core/target.ts';
import type { CompiledInput, Facts } from '../../policy/index.ts';
import { kept } from '../../util/kept.ts';
import { CallFacts } from '../facts/facts.ts';
import { sizedBody, withGiven } from '../facts/given-facts.ts';
import { afterDenial, afterGrant, type Enforceable } from '../opinion.ts';
import { classesOf, signalReasons } from '../verdict.ts';
import { type Trace, type TraceRecord, toRecordedCall, wasJudged } from './call-of-trace.ts';
import { compilePartial, type PartialRules } from './partial-rules.ts';
import type { Simulator } from './simulate.ts';

/* Judges recorded calls by other rules. Nothing that a trace lacks is guessed. */

/** The decision on a call, actual or simulated. */
export interface SimulatedOutcome {
  readonly decision: Decision;
  readonly reasonCodes: readonly string[];
  readonly policyName: string | undefined;
  readonly ruleId: string | undefined;
}

export type TraceOutcome =
  | { readonly kind: 'judged'; readonly before: SimulatedOutcome; readonly after: SimulatedOutcome }
  /** The decision depends on something that the trace lacks, which `because` names. */
  | { readonly kind: 'undetermined'; readonly because: string };

/** Judges a recorded call by the rules. `ownAgent` is the agent of the key that the call was made with. */
type TraceJudge = (trace: Trace, ownAgent: OwnAgent) => TraceOutcome;

/** The reason codes that come from the call and not from rules. They stay whatever the rules are. */
const noticed: ReadonlySet<string> = new Set([
  ...dataClasses,
  'SECRET_MISDIRECTED',
  'GATEWAY_DEGRADED',
  ...signalReasons,
]);
const cannotTell = 'whether what it carries could be cut out is not in the trace';

export function createTraceJudge(
  simulator: Simulator,
  tenant: TenantConfig,
  inputs: readonly CompiledInput[],
): TraceJudge {
  const compiled = new Map<string, PartialRules>();

  const rulesFor = ({ lacks }: TraceRecord): PartialRules =>
    kept(compiled, lacks.join(), () => compilePartial(inputs, lacks));

  return (trace, ownAgent) => {
    const before = outcomeOf(trace);
    if (!wasJudged(trace)) return { kind: 'judged', before, after: before };
    // A URL that was cut short, or had something cut out of it, may not be a URL any more.
    const target = ifValid(() => parseTarget(trace.url));
    if (!target) return { kind: 'undetermined', because: 'the URL is not whole in the trace' };
    const recorded = toRecordedCall(trace, tenant, { ownAgent, target }, simulator);
    const { call } = recorded;
    const rules = rulesFor(recorded);
    const given = (facts: Facts): Facts => withGiven(facts, {}, sizedBody(facts.body, trace.body_bytes));
    const because = rules.doubts(given(new CallFacts(call, classesOf(call))));
    if (because !== undefined) return { kind: 'undetermined', because };
    const { opinion } = simulator.judge(call, rules.certain, given);
    if (isCutDoubtful(trace, opinion)) return { kind: 'undetermined', because: cannotTell };
    return { kind: 'judged', before, after: afterPeople(trace, opinion) };
  };
}

/**
 * Tells whether it is unknown if the body can be cut. It is known where the body was cut, and where there is
 * nothing to cut.
 */
function isCutDoubtful(
  { decision, reason_codes = [], classifications = [] }: Trace,
  opinion: Enforceable,
): boolean {
  if (classifications.length === 0 || decision === 'SANITIZE') return false;
  return (
    opinion.reasonCodes.includes('UNSANITIZABLE') ||
    (opinion.sanitized !== undefined && reason_codes.includes('UNSANITIZABLE'))
  );
}

/** Returns the outcome after people's decisions on the identical call, which stand. */
function afterPeople({ reason_codes = [] }: Trace, opinion: Enforceable): SimulatedOutcome {
  const isHeld = opinion.decision === 'REQUIRE_APPROVAL';
  const decided =
    isHeld && reason_codes.includes('RECENT_APPROVAL_GRANT')
      ? afterGrant(opinion)
      : isHeld && reason_codes.includes('RECENT_APPROVAL_DENIAL')
        ? afterDenial(opinion)
        : opinion;
  return {
    decision: decided.decision,
    reasonCodes: [...new Set([...decided.reasonCodes, ...reason_codes.filter((it) => noticed.has(it))])],
    policyName: decided.decidedBy?.policyName,
    ruleId: decided.decidedBy?.ruleId,
  };
}

const outcomeOf = ({ decision, reason_codes = [], policy_name, rule_id }: Trace): SimulatedOutcome => ({
  decision,
  reasonCodes: reason_codes,
  policyName: policy_name,
  ruleId: rule_id,
});
