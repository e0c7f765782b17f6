import { type Outline, outlineOf } from '../kernel/outline.ts';
import type { Detector } from '../patterns/detector.ts';
import type { TokenBody } from '../patterns/partial-secret.ts';
import { type Tuning, tuneDetector } from '../patterns/tuning.ts';
import { type FarReaching, farReachingOf } from './far-reaching.ts';
import type { Earlier, FindLimits, Found } from './found.ts';
import { searchText } from './search.ts';
import { planSearch, type SearchPlan, type SearchRule, toRule, tunePlan } from './search-plan.ts';

export { looksRandom } from '../patterns/partial-secret.ts';
export { reachMax } from './far-reaching.ts';
export type { Earlier, FindLimits, Found, Match, PartialSecret } from './found.ts';
export { Verdicts } from './verdicts.ts';

/*
 * Runs all detectors over a text. One pass of the matcher finds anchors and keywords, and one of the digit
 * finder finds long numbers. A detector's pattern is tried only there. A text without any of them is never
 * made a string.
 *
 * The time grows with the length of the text and no faster. An anchored pattern is tried once at a hit, the
 * windows of a keyword are merged before they are searched, and `assertLinear` bounds each attempt.
 */

export interface DetectorEngine {
  /**
   * Searches the bytes; `outline` is their outline, where it is known. The result is the same with and
   * without `earlier`.
   */
  find(bytes: Buffer, limits: FindLimits, outline?: Outline, earlier?: Earlier): Found;
  /**
   * The words whose matches may end in another value, farther behind them than `reachMax` of
   * `far-reaching.ts`.
   */
  readonly farReaching: readonly FarReaching[];
  /**
   * Returns the form of a detector's secrets behind their prefix. Returns undefined for an unknown id, or
   * where the secrets have no such form.
   */
  tokenOf(id: string): Token | undefined;
  /**
   * Returns an engine with some detectors changed or left out. Both engines share their tables, which are
   * nearly all that an engine costs.
   */
  tuned(tuning: Tuning): DetectorEngine;
  /** Returns the same engine, to which redaction markers of these detectors, too, are no findings. */
  besides(furtherIds: readonly string[]): DetectorEngine;
}

/** The form of a detector's secrets behind their prefix. */
interface Token extends TokenBody {
  readonly detector: Detector;
}

/**
 * Creates an engine for one `find` at a time. `furtherIds` names detectors of other engines, whose redaction
 * markers are no findings here. `keptAs` names the tables of detectors that come with the program; see
 * `prepared`.
 */
export function createEngine(
  detectors: readonly Detector[],
  furtherIds: readonly string[] = [],
  keptAs?: string,
): DetectorEngine {
  const rules = detectors.map(toRule);
  const ids = new Set([...detectors.map(({ id }) => id), ...furtherIds]);
  return engineOf(rules, planSearch(rules, { allowSha256: nothingAllowed, ids }, keptAs));
}

const nothingAllowed: ReadonlySet<string> = new Set();

function engineOf(rules: readonly SearchRule[], plan: SearchPlan): DetectorEngine {
  const tokens = new Map<string, Token>();
  for (const { detector, tokenBody } of rules)
    if (tokenBody) tokens.set(detector.id, { ...tokenBody, detector });
  return {
    find: (bytes, limits, outline = outlineOf(bytes), earlier) =>
      searchText(plan, bytes, outline, limits, earlier),
    farReaching: rules.flatMap(({ detector }) => farReachingOf(detector)),
    tokenOf: (id) => tokens.get(id),
    tuned(tuning) {
      const tuned = tunedRules(rules, tuning);
      const kept = rules.flatMap((rule) => (tuned.has(rule) ? (tuned.get(rule) ?? []) : rule));
      return engineOf(kept, tunePlan(plan, tuned, tuning.allowSha256));
    },
    besides: (furtherIds) => engineOf(rules, { ...plan, ids: new Set([...plan.ids, ...furtherIds]) }),
  };
}

/** Maps each rule that changes to its new rule, or to undefined where it is left out. */
function tunedRules(
  rules: readonly SearchRule[],
  tuning: Tuning,
): ReadonlyMap<SearchRule, SearchRule | undefined> {
  const tuned = new Map<SearchRule, SearchRule | undefined>();
  for (const rule of rules) {
    const detector = tuneDetector(rule.detector, tuning);
    if (detector !== rule.detector) tuned.set(rule, detector && toRule(detector, rule.index));
  }
  return tuned;
}
