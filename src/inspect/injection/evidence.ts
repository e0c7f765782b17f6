/*
 * Adds evidence up. One phrase says little: manuals give orders, too, and articles quote attacks. What counts is how many different
 * kinds of evidence stand in one passage.
 */

/** Something that speaks for an injection: bytes of the text, what kind it is of, and how sure it makes by itself. */
export interface Evidence {
  readonly kind: string;
  readonly weight: number;
  readonly start: number;
  readonly end: number;
}

/** From here on a passage is an injection. */
export const injectionScoreMin = 0.45;

/** Evidence farther apart belongs to different texts of one page. */
export const passageBytes = 1000;
const reportedMax = 32;

/** Of two that are as strong the later one, which counts for longer. */
const isStronger = (one: Evidence, known: Evidence): boolean =>
  one.weight > known.weight ||
  (one.weight === known.weight && one.start > known.start) ||
  one.start - known.start > passageBytes;

/** Takes evidence in the order of the text. Keeps the strongest of each kind that the passage at hand has, so that it stays small. */
export class Passages {
  readonly #strongest = new Map<string, Evidence>();
  readonly #reported = new Map<string, Evidence>();
  #score = 0;

  /** Of the worst passage: 0 to 1, in hundredths. */
  get score(): number {
    return this.#score;
  }

  /** What made passages count, at most 32 of them. */
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
