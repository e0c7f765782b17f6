import type { Evidence } from './evidence.ts';
import type { PhraseRule } from './phrasebook.ts';
import type { PhraseHit } from './phrases.ts';

/**
 * Follows the rules through one text. It takes hits of concepts in order, and reports what they add up to.
 */
export class RuleTracker {
  readonly #rules: readonly PhraseRule[];
  readonly #tracked: TrackedRule[] = [];

  constructor(rules: readonly PhraseRule[]) {
    this.#rules = rules;
  }

  /** Takes a hit; `places` are those of its concept in the rules. */
  take(
    { start, end }: PhraseHit,
    places: readonly ConceptPlace[],
    onEvidence: (evidence: Evidence, rule: PhraseRule) => void,
  ): void {
    for (const { rule: index, step } of places) {
      const rule = this.#rules[index] as PhraseRule;
      this.#tracked[index] ??= { rule, steps: [] };
      const follow = rule.order === 'given' ? inOrder : inAnyOrder;
      const from = follow(this.#tracked[index], step, start, end);
      if (from >= 0) onEvidence({ kind: rule.kind, weight: rule.weight, start: from, end }, rule);
    }
  }
}

/** The place of a concept in a rule. */
export interface ConceptPlace {
  readonly rule: number;
  readonly step: number;
}

interface TrackedRule {
  readonly rule: PhraseRule;
  /** The last place of each concept. In a given order it includes the concepts before it. */
  readonly steps: ({ start: number; end: number } | undefined)[];
}

/** Returns the start of the match of a rule that ends here; -1 where none does. */
function inOrder({ rule, steps }: TrackedRule, step: number, start: number, end: number): number {
  const before = steps[step - 1];
  if (step > 0 && (!before || before.end > start || end - before.start > rule.within)) return -1;
  const from = before ? before.start : start;
  if (step === rule.concepts.length - 1) return from;
  steps[step] = { start: from, end };
  return -1;
}

function inAnyOrder({ rule, steps }: TrackedRule, step: number, start: number, end: number): number {
  steps[step] = { start, end };
  let from = start;
  let to = end;
  for (let other = 0; other < rule.concepts.length; other++) {
    const place = steps[other];
    if (!place) return -1;
    if (other !== step && place.start < end && start < place.end) return -1;
    from = Math.min(from, place.start);
    to = Math.max(to, place.end);
  }
  return to - from <= rule.within ? from : -1;
}
