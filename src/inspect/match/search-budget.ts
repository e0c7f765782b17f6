/** How many attempts, and how many hits, are counted between two calls of `isOver`. */
const attemptsPerQuestion = 32;
const hitsPerQuestion = 4096;

/** Ends a search that takes too long or has found enough, and counts what it has done. */
export class SearchBudget {
  /** Tells whether no limit has ended the search. */
  isComplete = true;
  /** How often a pattern was tried. */
  attempts = 0;
  #hits = 0;
  readonly #isOver: () => boolean;

  constructor(isOver: () => boolean) {
    this.#isOver = isOver;
  }

  /** Counts an attempt, and tells whether the search has ended. */
  isOverAtAttempt(): boolean {
    if (++this.attempts % attemptsPerQuestion === 0) this.isOver();
    return !this.isComplete;
  }

  /** Counts a hit of a single byte, and tells whether the search has ended. */
  isOverAtHit(): boolean {
    return ++this.#hits % hitsPerQuestion === 0 && this.isOver();
  }

  isOver(): boolean {
    if (this.#isOver()) this.isComplete = false;
    return !this.isComplete;
  }
}
