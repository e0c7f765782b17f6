import type { Confidence, DataClass } from '../../core/call.ts';
import type { Detector } from '../patterns/detector.ts';
import type { Missing } from '../patterns/partial-secret.ts';
import type { Verdicts } from './verdicts.ts';

export interface Match {
  readonly detector: Detector;
  /** The place of the secret's first byte in the text, and of the byte behind it. */
  readonly start: number;
  readonly end: number;
  readonly confidence: Confidence;
}

/** The beginning of a secret at the end of a value. Its continuation may stand elsewhere. */
export interface PartialSecret {
  readonly detector: Detector;
  readonly start: number;
  readonly end: number;
  /** How many characters are missing; undefined where the secret has no fixed form. */
  readonly missing: Missing | undefined;
  /** Tells whether its anchor alone shows a secret, unlike the few characters of other anchors. */
  readonly isTelling: boolean;
}

export interface FindLimits {
  /** Bound on the matches of each class, and on those of low confidence. */
  readonly matchesMax: number;
  /** Tells whether the time is over. It is called now and then, and once it returns true the search ends. */
  readonly isOver: () => boolean;
}

/** What the same engine knows from other forms of a text, which it has searched to their ends. */
export interface Earlier {
  readonly verdicts: Verdicts;
  /** Tells whether these bytes, with one more on either side, stand unchanged in one of those forms. */
  readonly isKnown: ((start: number, end: number) => boolean) | undefined;
}

export interface Found {
  /** The matches in the order of the text. Those of different detectors may overlap. */
  readonly matches: Match[];
  /** Matches that count only beside others, in no order. `weighHints` of evidence.ts decides about them. */
  readonly hints: Match[];
  /** The first few beginnings of secrets. */
  readonly partialSecrets: PartialSecret[];
  /** Classes of which only the first matches were kept. */
  readonly uncounted: ReadonlySet<DataClass>;
  /**
   * Tells whether the text was searched to its end. It is false where a limit ended the search, so that
   * something may be missing.
   */
  readonly complete: boolean;
  /** The cost: how often a pattern was tried, and how many bytes were searched. */
  readonly attempts: number;
  readonly searchedBytes: number;
}

/**
 * Returns the rank of a match among others of the same span. One that goes by words comes first, since a name
 * tells what the value is for.
 */
const formOf = ({ detector: { digitLead, hasRun } }: Match): number => {
  if (digitLead !== undefined) return 1;
  return hasRun ? 2 : 0;
};

/**
 * Sorts matches and leaves out generic ones that lie within a more specific match, or within another generic
 * one of their class.
 */
export function withoutCoveredGenerics(matches: readonly Match[]): Match[] {
  const rank = (match: Match): number => (match.detector.isGeneric ? 1 : 0);
  const sorted = matches.toSorted(
    (a, b) => a.start - b.start || b.end - a.end || rank(a) - rank(b) || formOf(a) - formOf(b),
  );
  // Earlier matches begin no later, so the one that reaches farthest decides what is covered.
  let coveredTo = 0;
  const genericTo = new Map<DataClass, number>();
  return sorted.filter(({ detector, end, confidence }) => {
    const { isGeneric, class: dataClass } = detector;
    if (!isGeneric) {
      coveredTo = Math.max(coveredTo, end);
      return true;
    }
    if (end <= Math.max(coveredTo, genericTo.get(dataClass) ?? 0)) return false;
    if (confidence !== 'low') genericTo.set(dataClass, end);
    return true;
  });
}
