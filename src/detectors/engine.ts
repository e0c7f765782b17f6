import type { Detector } from './detector.ts';
import { type FindLimits, type Found, Search } from './search.ts';
import { planSearch, type Rule, toRule } from './search-plan.ts';

export type { FindLimits, Found, Match } from './search.ts';

/*
 * Runs all detectors over a text. One pass of the matcher finds anchors and keywords, one of the digit finder long numbers; a
 * detector's pattern is tried only there. Text without any of them is never even made a string.
 *
 * Time grows with the length of the text and no faster, whatever the text: an anchored pattern is tried once at a hit, the windows of
 * a keyword are merged before they are searched, and each attempt is bounded by `assertLinear`.
 */

export interface DetectorEngine {
  find(bytes: Buffer, limits: FindLimits): Found;
  /**
   * The same engine, which also looks for words of others in its one pass: see `FindLimits.wordsFound`. Words have two bytes or more, and
   * case means nothing in their ASCII letters.
   */
  withWords(words: readonly string[]): DetectorEngine;
}

/** Builds an engine; it may be used by one `find` at a time, which synchronous code cannot help but do. */
export function createEngine(detectors: readonly Detector[]): DetectorEngine {
  return engineOf(detectors.map(toRule), []);
}

function engineOf(rules: readonly Rule[], words: readonly string[]): DetectorEngine {
  const plan = planSearch(rules, words);
  return {
    find: (bytes, limits) => new Search(plan, bytes, limits).run(),
    withWords: (added) => engineOf(rules, added),
  };
}
