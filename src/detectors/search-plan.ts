import type { Detector } from './detector.ts';
import { createMatcher, type Matcher } from './matcher.ts';

/* What a search needs to know beforehand: which words to look for, and what a hit of each means to which detector. */

/** A detector with its compiled pattern: sticky where it has anchors, else global. */
export interface Rule {
  readonly detector: Detector;
  readonly regex: RegExp;
  readonly index: number;
}

/** What a hit of a word means to one rule. */
export interface Use {
  readonly rule: Rule;
  readonly wordLength: number;
  /** How the word must be written; undefined where any case will do. */
  readonly exact: Buffer | undefined;
}

/** For each rule the end of what it has matched, and how many anchors before that end may still be tried. */
interface Progress {
  readonly matchedTo: Int32Array;
  readonly retriesLeft: Int32Array;
}

/** Made once for a set of detectors. */
export interface SearchPlan {
  readonly matcher: Matcher;
  readonly usesOfWord: readonly (readonly Use[])[];
  /** For each word its place among those of others; -1 where it is only the detectors'. */
  readonly placeOfWord: Int32Array;
  /** Words of one byte; the matcher does not take them, and nothing is faster than `indexOf` for them. */
  readonly singles: readonly { readonly byte: number; readonly uses: readonly Use[] }[];
  readonly digitRules: readonly Rule[];
  readonly keywordRules: readonly Rule[];
  /** Room for `Search`, of which only one is under way at a time. */
  readonly progress: Progress;
}

/** Plans the search for these rules, and for words of others. */
export function planSearch(rules: readonly Rule[], others: readonly string[]): SearchPlan {
  const usesOf = new Map<string, Use[]>();
  for (const rule of rules) {
    const { anchors, keywords, anchorCase } = rule.detector;
    for (const word of [...anchors, ...keywords]) {
      const bytes = Buffer.from(word);
      const uses = usesOf.get(word.toLowerCase()) ?? [];
      uses.push({ rule, wordLength: bytes.length, exact: anchorCase ? bytes : undefined });
      usesOf.set(word.toLowerCase(), uses);
    }
  }
  const places = new Map(others.map((word, place) => [word.toLowerCase(), place]));
  const own = [...usesOf.keys()].filter((word) => Buffer.byteLength(word) > 1);
  const words = [...new Set([...own, ...places.keys()])];
  const singles = [...usesOf.keys()].filter((word) => Buffer.byteLength(word) === 1);
  return {
    matcher: createMatcher(words),
    usesOfWord: words.map((word) => usesOf.get(word) ?? []),
    placeOfWord: Int32Array.from(words, (word) => places.get(word) ?? -1),
    singles: singles.map((word) => ({ byte: word.charCodeAt(0), uses: usesOf.get(word) ?? [] })),
    digitRules: rules.filter((rule) => rule.detector.digitsMin > 0),
    keywordRules: rules.filter((rule) => rule.detector.keywords.length > 0),
    progress: { matchedTo: new Int32Array(rules.length), retriesLeft: new Int32Array(rules.length) },
  };
}

/** `index` is the rule's place among all: what a search notes of it stands there. */
export function toRule(detector: Detector, index: number): Rule {
  const place = detector.anchors.length > 0 ? 'y' : 'g';
  const indices = detector.group > 0 ? 'd' : '';
  return { detector, index, regex: new RegExp(detector.pattern, detector.flags + place + indices) };
}
