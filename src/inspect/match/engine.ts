import { type Outline, outlineOf } from '../kernel/outline.ts';
import type { TokenBody } from '../patterns/cut-token.ts';
import type { Detector } from '../patterns/detector.ts';
import { type Tuning, tuneDetector } from '../patterns/tuning.ts';
import { type FarReaching, farReachingOf } from './far-reaching.ts';
import type { Earlier, FindLimits, Found } from './found.ts';
import { Search } from './search.ts';
import { planSearch, type SearchPlan, type SearchRule, toRule, tunePlan } from './search-plan.ts';

export { looksRandom } from '../patterns/cut-token.ts';
export { reachMax } from './far-reaching.ts';
export type { Earlier, FindLimits, Found, Match, PartialSecret } from './found.ts';
export { Verdicts } from './verdicts.ts';

/*
 * Runs all detectors over a text. One pass of the matcher finds anchors and keywords, one of the digit finder long numbers; a
 * detector's pattern is tried only there. Text without any of them is never even made a string.
 *
 * Time grows with the length of the text and no faster, whatever the text: an anchored pattern is tried once at a hit, the windows of
 * a keyword are merged before they are searched, and each attempt is bounded by `assertLinear`.
 */

export interface DetectorEngine {
  /** `outline` is that of the bytes, where it is known. What was found is the same with `earlier` as without it. */
  find(bytes: Buffer, limits: FindLimits, outline?: Outline, earlier?: Earlier): Found;
  /** Words whose matches may end farther behind them than `reachMax` of `far-reaching.ts`, in another value. */
  readonly farReaching: readonly FarReaching[];
  /** What a detector's secrets consist of behind their prefix; undefined where they have no such form, or nobody has this id. */
  tokenOf(id: string): Token | undefined;
  /** The same engine with some detectors changed or left out. Shares its tables, which are nearly all that an engine costs. */
  tuned(tuning: Tuning): DetectorEngine;
}

/** What the secrets of a detector consist of behind their prefix. */
interface Token extends TokenBody {
  readonly detector: Detector;
}

/**
 * Builds an engine; it may be used by one `find` at a time, which synchronous code cannot help but do. `furtherIds` are those of detectors
 * that others look with: what they have redacted is no finding here. `keptAs` is for detectors that come with the program, see `prepared`.
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
      new Search(plan, bytes, outline, limits, earlier).run(),
    farReaching: rules.flatMap(({ detector }) => farReachingOf(detector)),
    tokenOf: (id) => tokens.get(id),
    tuned(tuning) {
      const tuned = tunedRules(rules, tuning);
      const kept = rules.flatMap((rule) => (tuned.has(rule) ? (tuned.get(rule) ?? []) : rule));
      return engineOf(kept, tunePlan(plan, tuned, tuning.allowSha256));
    },
  };
}

/** What becomes of the rules that do not stay as they are; undefined where nothing does. */
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
