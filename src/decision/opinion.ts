import {
  type AssessedCall,
  type DataClass,
  type Decision,
  type Finding,
  type IncidentCause,
  type InspectedCall,
  isTunnel,
  type MatchedRule,
} from '../core/call.ts';
import { ownName, type SafeName, safely } from '../core/safe-name.ts';
import { counts, defaultCuts, sanitizedBody } from '../inspect/parts/sanitize.ts';
import type { PolicyDecision, RuleAction } from '../policy/index.ts';
import { isCertain } from '../risk/signals/read-then-write.ts';
import { excuseOf } from './excuse.ts';
import type { PostureOpinion } from './posture.ts';

/*
 * The judgement of a call by a policy, the posture or neither, and the verdict that follows from it. All
 * functions are pure.
 */

/** An opinion before it is enforced. */
export interface Opinion {
  readonly decision: Decision;
  readonly reasonCodes: readonly string[];
  readonly explanation: readonly SafeName[];
  readonly matched: readonly MatchedRule[];
  readonly decidedBy: MatchedRule | undefined;
  /** The classes that SANITIZE cuts. */
  readonly cuts: readonly DataClass[];
  /** A held call goes out sanitized, once it may go out. */
  readonly alsoSanitize: boolean;
  readonly tags: readonly string[];
  /** Kinds of channels that must be told of the call, whatever their filters say. */
  readonly escalateTo: readonly string[];
  readonly incidents: readonly IncidentCause[];
  /** The decision of rules in monitor mode; undefined where none holds. */
  readonly wouldBe: Decision | undefined;
}

/** Returns a denial that no policy is asked about. */
export const denial = (reasonCode: string, sentence: SafeName): Opinion => ({
  decision: 'DENY',
  reasonCodes: [reasonCode],
  explanation: [sentence],
  matched: [],
  decidedBy: undefined,
  cuts: [],
  alsoSanitize: false,
  tags: [],
  escalateTo: [],
  incidents: [],
  wouldBe: undefined,
});

export const outOfScope = (violations: readonly SafeName[]): Opinion => ({
  ...denial('EPHEMERAL_SCOPE_VIOLATION', safely`The call is outside the scope of its key.`),
  explanation: violations,
  incidents: [
    {
      trigger: safely`scope-violation`,
      title: safely`An ephemeral key was used outside its scope`,
      severity: 'HIGH',
    },
  ],
});

const toDecision = (action: RuleAction): Decision => (action === 'OPEN_INCIDENT' ? 'DENY' : action);

export function opinionOfPolicy(policy: PolicyDecision): Opinion {
  return {
    decision: toDecision(policy.action ?? 'DENY'),
    reasonCodes: policy.reasonCodes,
    explanation: policy.explanation.map(ownName),
    matched: policy.matched,
    decidedBy: policy.decidedBy,
    cuts: policy.namedClasses.length > 0 ? policy.namedClasses : defaultCuts,
    alsoSanitize: policy.alsoSanitize,
    tags: policy.tags,
    escalateTo: policy.escalateTo,
    incidents: incidentOfPolicy(policy),
    wouldBe: policy.wouldBe && toDecision(policy.wouldBe),
  };
}

/** Returns the judgement where no rule decides. `byPolicy` says what rules in monitor mode would have decided. */
export const opinionOfPosture = (posture: PostureOpinion, byPolicy: PolicyDecision | undefined): Opinion => ({
  decision: posture.decision,
  reasonCodes: posture.reasonCode ? [posture.reasonCode] : [],
  explanation: [posture.explanation, ...(byPolicy?.explanation ?? [])].map(ownName),
  matched: [],
  decidedBy: undefined,
  cuts: posture.sanitizes.length > 0 ? posture.sanitizes : defaultCuts,
  alsoSanitize: posture.sanitizes.length > 0,
  tags: [],
  escalateTo: [],
  incidents: [],
  wouldBe: byPolicy?.wouldBe && toDecision(byPolicy.wouldBe),
});

function incidentOfPolicy({ incidentSeverity, matched }: PolicyDecision): readonly IncidentCause[] {
  const rule = matched.find((it) => it.action === 'OPEN_INCIDENT');
  if (incidentSeverity === undefined || !rule) return [];
  const trigger = ownName(`policy:${rule.policyName}/${rule.ruleId}`);
  return [
    {
      trigger,
      title: ownName(`Rule "${rule.ruleId}" of policy "${rule.policyName}" holds`),
      severity: incidentSeverity,
    },
  ];
}

/**
 * Returns causes for an analyst to look: those of the judgement, content on its way out, a listed
 * destination, and a denial of critical risk. A denial that is the gateway's own doing is none.
 */
export function incidentsOf(call: AssessedCall, opinion: Opinion): readonly IncidentCause[] {
  const { decision, incidents: given } = opinion;
  const noticed: IncidentCause[] = [];
  if (carriesContent(call)) noticed.push(readThenWrite);
  if (isThreatHit(call)) noticed.push(threatHit);
  const isCritical = decision === 'DENY' && call.risk.band === 'CRITICAL';
  if (isCritical && !excuseOf(call, opinion)) noticed.push(criticalDenial);
  return noticed.length === 0 ? given : [...given, ...noticed];
}

const readThenWrite: IncidentCause = {
  trigger: safely`read-then-write`,
  title: safely`What an agent was answered was on its way out of the organisation`,
  severity: 'CRITICAL',
};

const threatHit: IncidentCause = {
  trigger: safely`threat-hit`,
  title: safely`A call to a destination that a threat feed lists`,
  severity: 'HIGH',
};

const criticalDenial: IncidentCause = {
  trigger: safely`critical-denial`,
  title: safely`A call of critical risk was denied`,
  severity: 'CRITICAL',
};

const isThreatHit = ({ evidence }: AssessedCall): boolean =>
  evidence.threats.some((it) => it.location === 'target');

const carriesContent = ({ evidence }: AssessedCall): boolean => evidence.carriedReads.some(isCertain);

/** An opinion that can be carried out. `sanitized` is what goes out instead of the body. */
export type Enforceable = Opinion & { readonly sanitized?: Buffer };

/**
 * Returns an opinion as it is in monitor mode: the call passes, and what would have become of it is noted.
 */
export const monitored = ({ sanitized: _, ...opinion }: Enforceable): Enforceable => ({
  ...opinion,
  decision: 'ALLOW',
  escalateTo: [],
  wouldBe: opinion.decision === 'ALLOW' ? opinion.wouldBe : opinion.decision,
});

/** The id of the detector of the gateway's own keys. */
const ownKey = 'postern-key';

/**
 * Cuts keys of the gateway from the body, and denies the call where they stand elsewhere. A key in its home
 * place was taken out before.
 */
export function withoutOwnKeys(call: InspectedCall, opinion: Enforceable): Enforceable {
  // A sanitized call has lost all its secrets.
  if (opinion.decision === 'DENY' || opinion.sanitized || !call.findings.some(isOwnKey)) return opinion;
  const allowed = {
    decision: 'SANITIZE',
    reasonCodes: ['SECRETS', ...opinion.reasonCodes],
    decidedBy: undefined,
  } as const;
  return enforceable(call, {
    ...opinion,
    ...(opinion.decision === 'ALLOW' ? allowed : {}),
    alsoSanitize: true,
    cuts: [],
    explanation: [
      safely`The call carries a key of this gateway, which never leaves it.`,
      ...opinion.explanation,
    ],
  });
}

const isOwnKey = (it: Finding): boolean => it.kind === ownKey && counts(it);

/**
 * Makes an opinion that can be carried out. Where the call cannot be sanitized, the opinion becomes a denial.
 * For a call that must be held first, that happens before anybody is asked.
 */
export function enforceable(call: InspectedCall, opinion: Opinion): Enforceable {
  const { decision, alsoSanitize, cuts } = opinion;
  if (decision !== 'SANITIZE' && !(decision === 'REQUIRE_APPROVAL' && alsoSanitize)) return opinion;
  const sanitized = isTunnel(call) ? undefined : sanitizedBody(call, cuts);
  if (sanitized) return { ...opinion, sanitized };
  return {
    ...opinion,
    decision: 'DENY',
    reasonCodes: ['UNSANITIZABLE', ...opinion.reasonCodes],
    explanation: [
      ...opinion.explanation,
      isTunnel(call)
        ? safely`Nothing can be cut out of a tunnel that is not read.`
        : safely`What must be cut out sits in the URL, in a header, or where cutting would break the body; send the call without it.`,
    ],
  };
}

export const afterGrant = (opinion: Enforceable): Enforceable => ({
  ...opinion,
  decision: opinion.sanitized ? 'SANITIZE' : 'ALLOW',
  reasonCodes: ['RECENT_APPROVAL_GRANT', ...opinion.reasonCodes],
  explanation: [safely`The identical call was approved a moment ago.`, ...opinion.explanation],
});

export const afterDenial = (opinion: Enforceable): Enforceable => ({
  ...opinion,
  decision: 'DENY',
  reasonCodes: ['RECENT_APPROVAL_DENIAL', ...opinion.reasonCodes],
  explanation: [safely`The identical call was denied a moment ago.`, ...opinion.explanation],
});
