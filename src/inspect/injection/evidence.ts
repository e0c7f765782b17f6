/*
 * Adds up evidence. One phrase says little, since manuals give orders and articles quote attacks. What counts
 * is the number of different kinds of evidence in one passage.
 */

/** Something that speaks for an injection: its bytes in the text, its kind, and how sure it makes alone. */
export interface Evidence {
  readonly kind: string;
  readonly weight: number;
  readonly start: number;
  readonly end: number;
}

/** The score from which on a passage is an injection. */
export const injectionScoreMin = 0.45;

/** The number of bytes of a passage; evidence farther apart belongs to different texts of one page. */
export const passageBytes = 1000;
const reportedMax = 32;

/**
 * Tells whether evidence replaces the known one. If both are equally strong the later wins, because it counts
 * for longer.
 */
const isStronger = (one: Evidence, known: Evidence): boolean =>
  one.weight > known.weight ||
  (one.weight === known.weight && one.start > known.start) ||
  one.start - known.start > passageBytes;

/**
 * Takes evidence in the order of the text. It keeps the strongest of each kind in the current passage, so
 * that it stays small.
 */
export class Passages {
  readonly #strongest = new Map<string, Evidence>();
  readonly #reported = new Map<string, Evidence>();
  #score = 0;

  /** Returns the score of the worst passage, from 0 to 1, in hundredths. */
  get score(): number {
    return this.#score;
  }

  /** Returns the evidence that made passages count, at most 32 pieces. */
  get reported(): Evidence[] {
    return [...this.#reported.values()];
  }

  add(evidence: Evidence): void {
    const known = this.#strongest.get(evidence.kind);
    if (!known || isStronger(evidence, known)) this.#strongest.set(evidence.kind, evidence);
    let doubt = 1;
    for (const { weight, start } of this.#strongest.values())
      if (evidence.end - start <= passageBytes) doubt *= 1 - weight;
    const score = Math.round((1 - doubt) * 100) / 100;
    this.#score = Math.max(this.#score, score);
    if (score >= injectionScoreMin) this.#report(evidence.end);
  }

  #report(end: number): void {
    for (const evidence of this.#strongest.values()) {
      if (this.#reported.size >= reportedMax) return;
      if (end - evidence.start <= passageBytes)
        this.#reported.set(`${evidence.kind}:${evidence.start}`, evidence);
    }
  }
}
