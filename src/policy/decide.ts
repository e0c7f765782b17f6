import { type Band, bands, type ContentClass, type DataClass, type MatchedRule } from '../core/call.ts';
import type { CompiledRule } from './compiled-rule.ts';
import type { RuleAction } from './schema.ts';

/** The decision of the policies. */
export interface PolicyDecision {
  /**
   * The strictest action of the enforced policies. Where no enforced rule holds it is undefined, and the
   * posture decides.
   */
  readonly action: RuleAction | undefined;
  readonly decidedBy: MatchedRule | undefined;
  /** The rule that held in each enforced policy, the deciding one first. */
  readonly matched: readonly MatchedRule[];
  /**
   * The reason codes: first that of the deciding rule, then those of equally strict rules. Beside an approval
   * there are also those of rules that sanitize.
   */
  readonly reasonCodes: readonly string[];
  /**
   * The classes that sanitizing rules name in `has_data_class`. Where it is empty, the usual classes are cut
   * out.
   */
  readonly namedClasses: readonly DataClass[];
  /** Another policy wants the call sanitized beside REQUIRE_APPROVAL, so an approved call is sanitized. */
  readonly alsoSanitize: boolean;
  readonly tags: readonly string[];
  /** Kinds of channels that must be told of the call, whatever their filters say. */
  readonly escalateTo: readonly string[];
  /**
   * The highest severity that the OPEN_INCIDENT rules that hold ask for, also beside a DENY; undefined where
   * there is none.
   */
  readonly incidentSeverity: Band | undefined;
  /** Sentences that name rules and what those asked. They never name content of the call. */
  readonly explanation: readonly string[];
  /** The strictest action of the policies in monitor mode; undefined where none of their rules holds. */
  readonly wouldBe: RuleAction | undefined;
}

/** The severity of an incident whose rule names none. */
const defaultSeverity: Band = 'HIGH';
const usualClasses: readonly DataClass[] = ['SECRETS', 'PII', 'PHI'];

const strictness: Readonly<Record<RuleAction, number>> = {
  ALLOW: 0,
  SANITIZE: 1,
  REQUIRE_APPROVAL: 2,
  OPEN_INCIDENT: 3,
  DENY: 3,
};

export const noDecision: PolicyDecision = Object.freeze({
  action: undefined,
  decidedBy: undefined,
  matched: [],
  reasonCodes: [],
  namedClasses: [],
  alsoSanitize: false,
  tags: [],
  escalateTo: [],
  incidentSeverity: undefined,
  explanation: [],
  wouldBe: undefined,
});

/** Makes one decision of the rules that hold, at most one of each policy. Their order does not matter. */
export function combine(holding: readonly CompiledRule[]): PolicyDecision {
  if (holding.length === 0) return noDecision;
  const enforced = holding.filter(({ isEnforced }) => isEnforced).sort(strictestFirst);
  const monitored = holding.filter(({ isEnforced }) => !isEnforced).sort(strictestFirst);
  const wouldBe = monitored[0]?.rule.action;
  const explainedWouldBe = monitored
    .slice(0, 1)
    .map((rule) => `${nameOf(rule)} only monitors; it would be ${rule.rule.action}.`);
  const [deciding] = enforced;
  if (deciding === undefined) return { ...noDecision, wouldBe, explanation: explainedWouldBe };

  const { action } = deciding.rule;
  const sanitizing = enforced.filter(({ rule }) => rule.action === 'SANITIZE');
  const alsoSanitize = action === 'REQUIRE_APPROVAL' && sanitizing.length > 0;
  const effective = [
    ...enforced.filter(({ rule }) => strictness[rule.action] === strictness[action]),
    ...(alsoSanitize ? sanitizing : []),
  ];
  return {
    action,
    decidedBy: deciding.matched,
    matched: enforced.map(({ matched }) => matched),
    reasonCodes: unique(effective.map(({ rule }) => rule.reason_code ?? `POLICY_${rule.action}`)),
    namedClasses: action === 'SANITIZE' || alsoSanitize ? classesOf(sanitizing) : [],
    alsoSanitize,
    tags: unique(enforced.flatMap(({ rule }) => rule.tag ?? [])),
    escalateTo: unique(enforced.flatMap(({ rule }) => rule.escalate_to ?? [])),
    incidentSeverity: severityOf(enforced),
    explanation: [
      `${nameOf(deciding)} says ${action}: ${deciding.because}.`,
      ...(alsoSanitize
        ? sanitizing.map((rule) => `Once approved it is sent sanitized, as ${nameOf(rule)} says.`)
        : []),
      ...explainedWouldBe,
    ],
    wouldBe,
  };
}

/**
 * Orders rules: DENY and OPEN_INCIDENT, REQUIRE_APPROVAL, SANITIZE, ALLOW; then by priority, policy and rule.
 */
function strictestFirst(a: CompiledRule, b: CompiledRule): number {
  return (
    strictness[b.rule.action] - strictness[a.rule.action] ||
    a.rule.priority - b.rule.priority ||
    compareText(a.policy.policyName, b.policy.policyName) ||
    compareText(a.rule.rule_id, b.rule.rule_id) ||
    compareText(a.policy.policyId, b.policy.policyId)
  );
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];

const nameOf = ({ policy, rule }: CompiledRule): string =>
  `Rule "${rule.rule_id}" of policy "${policy.policyName}" (version ${policy.version})`;

/** Returns the classes that sanitizing rules cut together; none of them spares what another one names. */
function classesOf(sanitizing: readonly CompiledRule[]): readonly DataClass[] {
  const named = sanitizing.map(({ rule }) => (rule.condition.has_data_class ?? []).filter(isDataClass));
  if (named.every((classes) => classes.length === 0)) return [];
  return unique(named.flatMap((classes) => (classes.length === 0 ? usualClasses : classes)));
}

/**
 * Tells whether the class is one of data. OPAQUE_CONTENT is not, and content that nobody can read cannot be
 * cut.
 */
const isDataClass = (name: ContentClass): name is DataClass => name !== 'OPAQUE_CONTENT';

function severityOf(enforced: readonly CompiledRule[]): Band | undefined {
  const asked = enforced
    .filter(({ rule }) => rule.action === 'OPEN_INCIDENT')
    .map(({ rule }) => rule.incident_severity ?? defaultSeverity);
  return bands.findLast((band) => asked.includes(band));
}
