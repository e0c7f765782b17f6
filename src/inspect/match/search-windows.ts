import type { PatternSearch } from './pattern-search.ts';
import type { SearchPlan, SearchRule } from './search-plan.ts';

/** Joins the surroundings of keywords into windows, each of which is searched once. */
export class SearchWindows {
  readonly #room: SearchPlan['room'];
  readonly #patterns: PatternSearch;
  /** The rules with a window that is still to be searched. */
  readonly #waiting: SearchRule[] = [];
  #isRoomClear = false;

  constructor(room: SearchPlan['room'], patterns: PatternSearch) {
    this.#room = room;
    this.#patterns = patterns;
  }

  /**
   * Adds a region to the rule's window, or begins another window behind it. Regions come roughly in order.
   */
  widen(rule: SearchRule, from: number, to: number): void {
    const { windowFrom, windowTo } = this.#room;
    // Most texts need no room, so it is cleared when it is first needed.
    if (!this.#isRoomClear) {
      this.#isRoomClear = true;
      windowTo.fill(-1);
    }
    const { index } = rule;
    const openTo = windowTo[index] as number;
    if (openTo < 0) this.#waiting.push(rule);
    else if (from <= openTo) {
      windowFrom[index] = Math.min(windowFrom[index] as number, from);
      windowTo[index] = Math.max(openTo, to);
      return;
    } else this.#search(rule);
    windowFrom[index] = from;
    windowTo[index] = to;
  }

  /** Marks the surroundings of other detectors' findings, so that this rule searches them. */
  lookAround(rule: SearchRule): void {
    const { near, window } = rule.detector;
    const { matches, hints } = this.#patterns.finds;
    const around = [...matches, ...hints].filter(
      ({ detector: { role } }) => role !== undefined && near.includes(role),
    );
    for (const { start, end } of around.sort((a, b) => a.start - b.start))
      this.widen(rule, start - window.before, end + window.after);
  }

  searchAll(): void {
    const { windowTo } = this.#room;
    for (const rule of this.#waiting) {
      this.#search(rule);
      windowTo[rule.index] = -1;
    }
    this.#waiting.length = 0;
  }

  #search(rule: SearchRule): void {
    const { windowFrom, windowTo } = this.#room;
    this.#patterns.searchWindow(rule, windowFrom[rule.index] as number, windowTo[rule.index] as number);
  }
}
