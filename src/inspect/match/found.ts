import type { Confidence, DataClass } from '../../core/call.ts';
import type { Detector } from '../patterns/detector.ts';
import type { Missing } from '../patterns/partial-secret.ts';
import type { Verdicts } from './verdicts.ts';

export interface Match {
  readonly detector: Detector;
  /** First byte of the secret in the text, and the byte behind it. */
  readonly start: number;
  readonly end: number;
  readonly confidence: Confidence;
}

/** The beginning of a secret at the end of a value; its continuation may stand elsewhere. */
export interface PartialSecret {
  readonly detector: Detector;
  readonly start: number;
  readonly end: number;
  /** Characters that are missing; undefined where the secret has no fixed form. */
  readonly missing: Missing | undefined;
  /** Says that its anchor alone tells a secret, which the few characters of others do not. */
  readonly isTelling: boolean;
}

export interface FindLimits {
  /** Limits the matches of each class, and those of low confidence. */
  readonly matchesMax: number;
  /** Is asked now and then; once it returns true, the search ends. */
  readonly isOver: () => boolean;
}

/** Knowledge of the same engine from other forms of a text, which it has searched to their ends. */
export interface Earlier {
  readonly verdicts: Verdicts;
  /** Answers whether these bytes, with one more on either side, stand unchanged in one of those forms. */
  readonly isKnown: ((start: number, end: number) => boolean) | undefined;
}

export interface Found {
  /** Are in the order of the text. Matches of different detectors may overlap. */
  readonly matches: Match[];
  /** Matches that count only beside others, in no order; `weighHints` of evidence.ts decides. */
  readonly hints: Match[];
  /** Beginnings of secrets, the first few. */
  readonly partialSecrets: PartialSecret[];
  /** Classes of which only the first were kept. */
  readonly uncounted: ReadonlySet<DataClass>;
  /** Is false where a limit ended the search, so that something may be missing. */
  readonly complete: boolean;
  /** Measure the cost: how often a pattern was tried, and how many bytes were searched. */
  readonly attempts: number;
  readonly searchedBytes: number;
}

/**
 * Ranks detectors that find the same span: one that goes by words comes first, since a name says what the value is
 * for.
 */
const formOf = ({ detector: { digitLead, hasRun } }: Match): number => {
  if (digitLead !== undefined) return 1;
  return hasRun ? 2 : 0;
};

/**
 * Sorts matches and leaves out generic ones within a more specific match, or within another generic one of their
 * class.
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
