import {
  type AssessedCall,
  type DataClass,
  dataClasses,
  type Finding,
  type InspectedCall,
  type Risk,
  signalNames,
  type Verdict,
} from '../core/call.ts';
import { ownName, type SafeName } from '../core/safe-name.ts';
import { counts } from '../inspect/parts/sanitize.ts';
import type { Enforceable } from './opinion.ts';
import { signalSentence } from './trace/agent-view.ts';

/** Signals whose names are reason codes of the calls that have them. */
export const signalReasons: ReadonlySet<string> = new Set(
  signalNames.filter((name) => name !== 'SENSITIVE_DATA'),
);
/**
 * Signals that the explanation does not name. For SENSITIVE_DATA it names the findings instead, one by one.
 */
const notExplained: ReadonlySet<string> = new Set(['SENSITIVE_DATA', 'NEW_DESTINATION', 'OPAQUE_CONTENT']);
/** The most findings that one explanation names. */
export const explainedFindingsMax = 20;
const nothing: readonly Finding[] = [];

/** Returns the opinion as the answer to the call, with what else was noticed of the call. */
export function toVerdict(call: AssessedCall, opinion: Enforceable): Verdict {
  const { isDegraded, charges, exceededBudgets, scopeViolations } = call.admission;
  const found = thatCount(call);
  const classifications = classesIn(found);
  const noticed: string[] = [...classifications];
  if (found.some((it) => it.class === 'SECRETS' && (it.vendorHosts.length > 0 || it.isMisdirected)))
    noticed.push('SECRET_MISDIRECTED');
  if (isDegraded) noticed.push('GATEWAY_DEGRADED');
  if (charges.some((it) => exceededBudgets.includes(it.name))) noticed.push('BUDGET_EXCEEDED');
  for (const signal of call.signals) if (signalReasons.has(signal.name)) noticed.push(signal.name);
  const places = found
    .slice(0, explainedFindingsMax)
    // Places quote nothing that was found.
    .map((it) =>
      ownName(
        `${it.class}: ${it.kind} at ${it.location} (${it.confidence} confidence${it.isMisdirected ? ', at home elsewhere' : ''}).`,
      ),
    );
  // The signals say why the call is risky, which a rule or a band does not say.
  for (const signal of call.signals) if (!notExplained.has(signal.name)) places.push(signalSentence(signal));
  if (call.signals.length > 0) places.push(riskSentence(call.risk));
  return {
    decision: opinion.decision,
    reasonCodes:
      noticed.length === 0 ? opinion.reasonCodes : [...new Set([...opinion.reasonCodes, ...noticed])],
    classifications,
    explanation: places.length === 0 ? opinion.explanation : [...opinion.explanation, ...places],
    matchedRules: opinion.matched,
    decidedBy: opinion.decidedBy,
    tags: opinion.tags,
    escalateTo: opinion.escalateTo,
    violations: scopeViolations,
    wouldBe: opinion.wouldBe,
    sanitizedBody: opinion.decision === 'SANITIZE' ? opinion.sanitized : undefined,
    cuts: opinion.decision === 'SANITIZE' ? opinion.cuts : undefined,
    approval: undefined,
  };
}

/** Returns a sentence on how the score has come about. */
function riskSentence({ score, band, parts: shares, trustModifier, floor }: Risk): SafeName {
  // Trust moves the mean and has no share of it.
  const parts = shares
    .filter(({ engine }) => engine !== 'trust')
    .map(({ engine, part }) => `${engine} ${toText(part)}`);
  if (trustModifier !== 0) parts.push(`trust ${toText(trustModifier)}`);
  const least = floor > 0 ? `, at least ${floor} for what was found` : '';
  return ownName(`Risk ${score} (${band}): ${parts.join(', ')}${least}.`);
}

const toText = (part: number): string => String(Math.round(part * 1000) / 1000);

/** Returns the data classes that the call carries, in their fixed order. */
export const classesOf = (call: Pick<InspectedCall, 'findings'>): DataClass[] => classesIn(thatCount(call));

/** Returns the findings that policies and posture judge: of medium confidence or more, and not at home. */
export const thatCount = ({ findings }: Pick<InspectedCall, 'findings'>): readonly Finding[] =>
  findings.length === 0 ? nothing : findings.filter(counts);

const classesIn = (found: readonly Finding[]): DataClass[] =>
  found.length === 0 ? [] : dataClasses.filter((name) => found.some((it) => it.class === name));
