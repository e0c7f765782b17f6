import { kept } from '../../util/kept.ts';
import type { PatternSearch } from './pattern-search.ts';
import type { SearchRule } from './search-plan.ts';

/** Bound on the windows of a rule that are searched in a row. */
const windowsMax = 64;

interface Window {
  from: number;
  to: number;
  /** Taken when nothing can widen the window any more. */
  turn: number;
}

/**
 * Joins the surroundings of keywords into windows, each of which is searched once. Those of a rule are
 * searched in a row, since its pattern is faster while it is in the processor's caches.
 */
export class SearchWindows {
  readonly #patterns: PatternSearch;
  /** The windows that are still to be searched. */
  readonly #windowsOf = new Map<SearchRule, Window[]>();

  constructor(patterns: PatternSearch) {
    this.#patterns = patterns;
  }

  /**
   * Adds a region to the rule's window, or begins another window behind it. Regions come roughly in order.
   */
  widen(rule: SearchRule, from: number, to: number): void {
    const windows = kept(this.#windowsOf, rule, (): Window[] => []);
    const last = windows.at(-1);
    if (last && from <= last.to) {
      last.from = Math.min(last.from, from);
      last.to = Math.max(last.to, to);
      return;
    }
    if (last) last.turn = this.#patterns.takeTurn();
    if (windows.length === windowsMax) this.#search(rule, windows);
    windows.push({ from, to, turn: 0 });
  }

  /** Returns the end of the rule's last window; 0 where there is none. */
  endOf = (rule: SearchRule): number => this.#windowsOf.get(rule)?.at(-1)?.to ?? 0;

  /**
   * Marks the surroundings of other detectors' findings, so that this rule searches them. Rules that look
   * around later see what all windows but the last one show.
   */
  lookAround(rule: SearchRule): void {
    const { near, window } = rule.detector;
    const { matches, hints } = this.#patterns.finds;
    const around = [...matches, ...hints].filter(
      ({ detector: { role } }) => role !== undefined && near.includes(role),
    );
    for (const { start, end } of around.sort((a, b) => a.start - b.start))
      this.widen(rule, start - window.before, end + window.after);
    const windows = this.#windowsOf.get(rule) ?? [];
    const last = windows.pop();
    this.#search(rule, windows);
    if (last) windows.push(last);
  }

  searchAll(): void {
    for (const [rule, windows] of this.#windowsOf) {
      const last = windows.at(-1);
      if (last) last.turn = this.#patterns.takeTurn();
      this.#search(rule, windows);
    }
  }

  #search(rule: SearchRule, windows: Window[]): void {
    for (const { from, to, turn } of windows) {
      this.#patterns.turn = turn;
      this.#patterns.searchWindow(rule, from, to);
    }
    windows.length = 0;
  }
}
