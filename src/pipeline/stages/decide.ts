import {
  type Call,
  type DataClass,
  type Decision,
  dataClasses,
  type Finding,
  type MatchedRule,
  type Verdict,
} from '../../call.ts';
import type { TenantConfig } from '../../config/schema.ts';
import { GatewayError } from '../../errors.ts';
import type { PolicyDecision, PolicySet, RuleAction } from '../../policy/index.ts';
import type { ApprovalDesk } from '../approval-desk.ts';
import { compileDenylist, type Denylist } from '../denylist.ts';
import { CallFacts } from '../facts.ts';
import type { Stage } from '../pipeline.ts';
import type { PolicyBook } from '../policy-book.ts';
import { judgeByPosture } from '../posture.ts';
import { counts, defaultCuts, sanitizedBody } from '../sanitize.ts';
import type { Tenants } from '../tenants.ts';

export interface DecideOptions {
  readonly tenants: Tenants;
  readonly policies: PolicyBook;
  readonly approvals: ApprovalDesk;
  /** The daemon's own mode; a tenant's may be laxer still. */
  readonly mode: 'enforce' | 'monitor';
}

/** An opinion before it is enforced. */
interface Opinion {
  readonly decision: Decision;
  readonly reasonCodes: readonly string[];
  readonly explanation: readonly string[];
  readonly matched: readonly MatchedRule[];
  readonly decidedBy: MatchedRule | undefined;
  /** What SANITIZE cuts. */
  readonly cuts: readonly DataClass[];
  /** What rules in monitor mode would have done. */
  readonly wouldBe: Decision | undefined;
}

/**
 * Which rule? Suspension and unreadable bodies end it; then the strictest of the policies; then the posture. SANITIZE makes
 * the redacted body here, so that what cannot be made becomes a denial. Only a call that must be held asks the state.
 */
export function decide({ tenants, policies, approvals, mode }: DecideOptions): Stage {
  const denylists = new WeakMap<TenantConfig, Denylist>();

  function isDenylisted(tenant: TenantConfig, call: Call): boolean {
    if (tenant.denylist.length === 0) return false;
    let denylist = denylists.get(tenant);
    if (!denylist) {
      denylist = compileDenylist(tenant.denylist);
      denylists.set(tenant, denylist);
    }
    return denylist(call.target);
  }

  function judge(call: Call, tenant: TenantConfig, rules: PolicySet): Opinion {
    const classes = classesOf(call);
    if (call.agentStatus === 'suspended') {
      return denial('AGENT_SUSPENDED', 'The agent is suspended; an analyst can reactivate it.');
    }
    if (isDenylisted(tenant, call)) {
      return denial('DENYLISTED', 'The destination is on the denylist of the tenant.');
    }
    if (call.unreadable !== undefined) {
      return denial(
        'UNREADABLE',
        `The call cannot be read to its end, so it is not let out: ${call.unreadable}.`,
      );
    }
    const byPolicy =
      rules.ruleCount === 0 ? undefined : rules.decide(new CallFacts(call, classes, tenant, rules));
    if (byPolicy?.action) return opinionOfPolicy(byPolicy);
    const posture = judgeByPosture(call, classes, tenant.posture);
    return {
      decision: posture.decision,
      reasonCodes: posture.reasonCode ? [posture.reasonCode] : [],
      explanation: [posture.explanation],
      matched: byPolicy?.matched ?? [],
      decidedBy: undefined,
      cuts: posture.sanitizes.length > 0 ? posture.sanitizes : defaultCuts,
      wouldBe: byPolicy?.wouldBe && toDecision(byPolicy.wouldBe.action),
    };
  }

  function conclude(call: Call, tenant: TenantConfig, rules: PolicySet): void | Promise<void> {
    const opinion = enforceable(call, judge(call, tenant, rules));
    if (mode === 'monitor' || tenant.mode === 'monitor') {
      const wouldBe = opinion.decision === 'ALLOW' ? opinion.wouldBe : opinion.decision;
      call.verdict = toVerdict(call, { ...opinion, decision: 'ALLOW', wouldBe });
      return;
    }
    call.verdict = toVerdict(call, opinion);
    if (opinion.decision === 'REQUIRE_APPROVAL') return hold(call, call.verdict, tenant);
  }

  async function hold(call: Call, verdict: Verdict, tenant: TenantConfig): Promise<void> {
    const approval = await approvals.open(call, verdict, tenant);
    call.verdict = { ...verdict, approval };
  }

  return {
    name: 'decide',
    run(call) {
      const tenant = call.identity && tenants.find(call.identity.tenantId);
      if (!call.identity || !tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      const page = policies.rulesFor(tenant.id);
      return page instanceof Promise
        ? page.then((it) => conclude(call, tenant, it.rules))
        : conclude(call, tenant, page.rules);
    },
  };
}

const denial = (reasonCode: string, sentence: string): Opinion => ({
  decision: 'DENY',
  reasonCodes: [reasonCode],
  explanation: [sentence],
  matched: [],
  decidedBy: undefined,
  cuts: [],
  wouldBe: undefined,
});

const toDecision = (action: RuleAction): Decision => (action === 'OPEN_INCIDENT' ? 'DENY' : action);

function opinionOfPolicy(policy: PolicyDecision): Opinion {
  return {
    decision: toDecision(policy.action ?? 'DENY'),
    reasonCodes: policy.reasonCodes,
    explanation: policy.explanation,
    matched: policy.matched,
    decidedBy: policy.decidedBy,
    cuts: policy.namedClasses.length > 0 ? policy.namedClasses : defaultCuts,
    wouldBe: policy.wouldBe && toDecision(policy.wouldBe.action),
  };
}

/** SANITIZE that cannot be done is a denial. */
function enforceable(call: Call, opinion: Opinion): Opinion & { sanitized?: Buffer } {
  if (opinion.decision !== 'SANITIZE') return opinion;
  const sanitized = sanitizedBody(call, opinion.cuts);
  if (sanitized) return { ...opinion, sanitized };
  return {
    ...opinion,
    decision: 'DENY',
    reasonCodes: ['UNSANITIZABLE', ...opinion.reasonCodes],
    explanation: [
      ...opinion.explanation,
      'What must be cut out sits in the URL, in a header, or where cutting would break the body; send the call without it.',
    ],
  };
}

const signalReasons = new Set(['NEW_DESTINATION']);
const explainedFindingsMax = 20;
const nothing: readonly Finding[] = [];

function toVerdict(call: Call, opinion: Opinion & { sanitized?: Buffer }): Verdict {
  const found = call.findings.length === 0 ? nothing : call.findings.filter(counts);
  const classifications = classesOf(call);
  const noticed: string[] = [...classifications];
  if (found.some((it) => it.class === 'SECRETS' && it.vendorHosts.length > 0))
    noticed.push('SECRET_MISDIRECTED');
  for (const signal of call.signals) if (signalReasons.has(signal.name)) noticed.push(signal.name);
  const places = found
    .slice(0, explainedFindingsMax)
    .map((it) => `${it.class}: ${it.kind} at ${it.location} (${it.confidence} confidence).`);
  return {
    decision: opinion.decision,
    reasonCodes:
      noticed.length === 0 ? opinion.reasonCodes : [...new Set([...opinion.reasonCodes, ...noticed])],
    classifications,
    explanation: places.length === 0 ? opinion.explanation : [...opinion.explanation, ...places],
    matchedRules: opinion.matched,
    decidedBy: opinion.decidedBy,
    wouldBe: opinion.wouldBe,
    sanitizedBody: opinion.decision === 'SANITIZE' ? opinion.sanitized : undefined,
    approval: undefined,
  };
}

/** The data classes that the call carries, in their fixed order. */
function classesOf(call: Call): DataClass[] {
  if (call.findings.length === 0) return [];
  return dataClasses.filter((name) => call.findings.some((it) => it.class === name && counts(it)));
}
