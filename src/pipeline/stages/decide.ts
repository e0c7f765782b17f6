import {
  type Call,
  type DataClass,
  type Decision,
  dataClasses,
  type Finding,
  type IncidentCause,
  type MatchedRule,
  type Verdict,
} from '../../call.ts';
import type { TenantConfig } from '../../config/schema.ts';
import { GatewayError } from '../../errors.ts';
import type { PolicyDecision, PolicySet, RuleAction } from '../../policy/index.ts';
import type { Store } from '../../state/store.ts';
import type { ApprovalDesk } from '../approval-desk.ts';
import { compileDenylist, type Denylist } from '../denylist.ts';
import { CallFacts } from '../facts.ts';
import type { Stage } from '../pipeline.ts';
import { type PolicyBook, rulesForCall } from '../policy-book.ts';
import { judgeByPosture } from '../posture.ts';
import { counts, defaultCuts, sanitizedBody } from '../sanitize.ts';
import type { Tenants } from '../tenants.ts';

export interface DecideOptions {
  readonly tenants: Tenants;
  readonly policies: PolicyBook;
  readonly store: Pick<Store, 'identify' | 'agentById'>;
  readonly approvals: Pick<ApprovalDesk, 'hold' | 'wait' | 'isFull'>;
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
  /** A held call goes out sanitised, once it may. */
  readonly alsoSanitize: boolean;
  readonly tags: readonly string[];
  readonly incidents: readonly IncidentCause[];
  /** What rules in monitor mode would have done. */
  readonly wouldBe: Decision | undefined;
}

/**
 * Which rule? Suspension and unreadable bodies end it; then the strictest of the policies; then the posture. SANITIZE makes
 * the redacted body here, so that what cannot be made becomes a denial. Only a call that must be held asks the state.
 */
export function decide({ tenants, policies, store, approvals, mode }: DecideOptions): Stage {
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
    if (call.scopeViolations.length > 0) return outOfScope(call);
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
      alsoSanitize: posture.sanitizes.length > 0,
      tags: byPolicy?.tags ?? [],
      incidents: [],
      cuts: posture.sanitizes.length > 0 ? posture.sanitizes : defaultCuts,
      wouldBe: byPolicy?.wouldBe && toDecision(byPolicy.wouldBe.action),
    };
  }

  function conclude(
    call: Call,
    tenant: TenantConfig,
    rules: PolicySet,
    wasHeld = false,
  ): void | Promise<void> {
    const opinion = enforceable(call, judge(call, tenant, rules));
    const isMonitored = mode === 'monitor' || tenant.mode === 'monitor';
    // What a key may do is no matter of policy: it binds in monitor mode as well.
    if (isMonitored && call.scopeViolations.length === 0) {
      const wouldBe = opinion.decision === 'ALLOW' ? opinion.wouldBe : opinion.decision;
      call.verdict = toVerdict(call, { ...opinion, decision: 'ALLOW', wouldBe });
      return;
    }
    call.verdict = toVerdict(call, opinion);
    call.incidents = incidentsOf(call, opinion);
    if (opinion.decision === 'REQUIRE_APPROVAL') return hold(call, opinion, tenant, wasHeld);
  }

  /** Asks what people have said of the identical call. Policies, denylist and suspension have let it come this far. */
  async function hold(
    call: Call,
    opinion: Enforceable,
    tenant: TenantConfig,
    wasHeld: boolean,
  ): Promise<void> {
    const verdict = toVerdict(call, opinion);
    const { kind, approval } = await approvals.hold(call, verdict, tenant);
    if (kind !== 'pending') {
      call.verdict = toVerdict(call, kind === 'granted' ? afterGrant(opinion) : afterDenial(opinion));
      return;
    }
    const { approvalId, expiresAtMs } = approval;
    call.verdict = { ...verdict, approval: { approvalId, expiresAtMs } };
    if (!wasHeld && isHeldOpen(call, tenant)) await holdOpen(call, tenant, approvalId);
  }

  const isHeldOpen = (call: Call, tenant: TenantConfig): boolean =>
    tenant.approvals.holdMs > 0 && call.entrance !== 'scan' && call.entrance !== 'a2a' && !approvals.isFull;

  /**
   * Waits for the decision, then judges anew: key, agent and policies may have changed, and of several that wait for one grant only one
   * may have it. What is still pending then is answered as if it had not been held.
   */
  async function holdOpen(call: Call, tenant: TenantConfig, approvalId: string): Promise<void> {
    const decided = await approvals.wait(tenant.id, approvalId, tenant.approvals.holdMs, call.isAwaited);
    if (!call.isAwaited() || (decided?.status !== 'approved' && decided?.status !== 'denied')) return;
    await refresh(call);
    const { rules } = await rulesForCall(policies, call);
    await conclude(call, tenant, rules, true);
  }

  async function refresh(call: Call): Promise<void> {
    const { key, identity } = call;
    const holder = key && (await store.identify(key.hash, Date.now()));
    if (!holder?.ok) throw new GatewayError('INVALID_KEY', 'The key is not valid any more.');
    const agent = identity && (await store.agentById(identity.agentId));
    call.agentStatus = holder.agentStatus === 'suspended' ? 'suspended' : (agent?.status ?? 'suspended');
  }

  return {
    name: 'decide',
    run(call) {
      const tenant = call.identity && tenants.find(call.identity.tenantId);
      if (!call.identity || !tenant) throw new GatewayError('INVALID_KEY', 'The key is not valid.');
      const page = rulesForCall(policies, call);
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
  alsoSanitize: false,
  tags: [],
  incidents: [],
  wouldBe: undefined,
});

const outOfScope = (call: Call): Opinion => ({
  ...denial('EPHEMERAL_SCOPE_VIOLATION', 'The call is outside the scope of its key.'),
  explanation: call.scopeViolations,
  incidents: [
    {
      trigger: 'scope-violation',
      title: 'An ephemeral key was used outside its scope',
      severity: 'HIGH',
    },
  ],
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
    alsoSanitize: policy.alsoSanitize,
    tags: policy.tags,
    incidents: incidentOfPolicy(policy),
    wouldBe: policy.wouldBe && toDecision(policy.wouldBe.action),
  };
}

function incidentOfPolicy({ incidentSeverity, matched }: PolicyDecision): readonly IncidentCause[] {
  const rule = matched.find((it) => it.action === 'OPEN_INCIDENT');
  if (incidentSeverity === undefined || !rule) return [];
  const trigger = `policy:${rule.policyName}/${rule.ruleId}`;
  return [
    {
      trigger,
      title: `Rule "${rule.ruleId}" of policy "${rule.policyName}" holds`,
      severity: incidentSeverity,
    },
  ];
}

function incidentsOf(call: Call, { decision, incidents }: Opinion): readonly IncidentCause[] {
  if (decision !== 'DENY' || call.riskBand !== 'CRITICAL') return incidents;
  const title = 'A call of critical risk was denied';
  return [...incidents, { trigger: 'critical-denial', title, severity: 'CRITICAL' }];
}

type Enforceable = Opinion & { readonly sanitized?: Buffer };

/** SANITIZE that cannot be done is a denial; of a call that must be held first, before anybody is asked. */
function enforceable(call: Call, opinion: Opinion): Enforceable {
  const { decision, alsoSanitize, cuts } = opinion;
  if (decision !== 'SANITIZE' && !(decision === 'REQUIRE_APPROVAL' && alsoSanitize)) return opinion;
  const sanitized = sanitizedBody(call, cuts);
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

const afterGrant = (opinion: Enforceable): Enforceable => ({
  ...opinion,
  decision: opinion.sanitized ? 'SANITIZE' : 'ALLOW',
  reasonCodes: ['RECENT_APPROVAL_GRANT', ...opinion.reasonCodes],
  explanation: ['The identical call was approved a moment ago.', ...opinion.explanation],
});

const afterDenial = (opinion: Enforceable): Enforceable => ({
  ...opinion,
  decision: 'DENY',
  reasonCodes: ['RECENT_APPROVAL_DENIAL', ...opinion.reasonCodes],
  explanation: ['The identical call was denied a moment ago.', ...opinion.explanation],
});

const signalReasons = new Set(['NEW_DESTINATION']);
const explainedFindingsMax = 20;
const nothing: readonly Finding[] = [];

function toVerdict(call: Call, opinion: Enforceable): Verdict {
  const found = call.findings.length === 0 ? nothing : call.findings.filter(counts);
  const classifications = classesOf(call);
  const noticed: string[] = [...classifications];
  if (found.some((it) => it.class === 'SECRETS' && it.vendorHosts.length > 0))
    noticed.push('SECRET_MISDIRECTED');
  if (call.isDegraded) noticed.push('GATEWAY_DEGRADED');
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
    tags: opinion.tags,
    violations: call.scopeViolations,
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
