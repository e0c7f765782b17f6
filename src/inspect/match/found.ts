import type { Confidence, DataClass } from '../../core/call.ts';
import type { Missing } from '../patterns/cut-token.ts';
import type { Detector } from '../patterns/detector.ts';
import type { Verdicts } from './verdicts.ts';

export interface Match {
  readonly detector: Detector;
  /** Bytes of the text: the first of the secret, and the one behind it. */
  readonly start: number;
  readonly end: number;
  readonly confidence: Confidence;
}

/** The beginning of a secret at the end of a value: the rest may stand somewhere else. */
export interface PartialSecret {
  readonly detector: Detector;
  readonly start: number;
  readonly end: number;
  /** Characters of the secret's alphabet; undefined where it has no such form. */
  readonly missing: Missing | undefined;
}

export interface FindLimits {
  /** Of each class, and of low confidence. */
  readonly matchesMax: number;
  /** Asked now and then; once it says yes, the search ends. */
  readonly isOver: () => boolean;
}

/** What the same engine has learnt from other forms of a text, all of which it has searched to their ends. */
export interface Earlier {
  readonly verdicts: Verdicts;
  /** Whether these bytes, and one on either side of them, stand in one of these forms as they stand here. */
  readonly isKnown: ((start: number, end: number) => boolean) | undefined;
}

export interface Found {
  /** In the order of the text. Matches of different detectors may overlap. */
  readonly matches: Match[];
  /** Matches that say something only beside others; `weighHints` (evidence.ts) decides. In no order. */
  readonly hints: Match[];
  /** The first few. */
  readonly cutTokens: PartialSecret[];
  /** Classes of which only the first were kept. */
  readonly uncounted: ReadonlySet<DataClass>;
  /** False where a limit ended the search: something may have been missed. */
  readonly complete: boolean;
  /** How often a pattern was tried, and over how many bytes it was searched: what the search has cost. */
  readonly attempts: number;
  readonly searchedBytes: number;
}

/** Of two that find the same, the one that goes by words more than by the form of the value: its name says what the value is for. */
const formOf = ({ detector: { digitLead, hasRun } }: Match): number => {
  if (digitLead !== undefined) return 1;
  return hasRun ? 2 : 0;
};

/** Sorted, without the matches of generic detectors that lie within one that says more, or within another generic one of their class. */
export function withoutCoveredGenerics(matches: readonly Match[]): Match[] {
  const rank = (match: Match): number => (match.detector.isGeneric ? 1 : 0);
  const sorted = matches.toSorted(
    (a, b) => a.start - b.start || b.end - a.end || rank(a) - rank(b) || formOf(a) - formOf(b),
  );
  // All that stand earlier begin no later, so the one that reaches farthest decides what is covered.
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
