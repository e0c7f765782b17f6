import type { DecodeBudget } from '../budget.ts';

/**
 * Creates a search for the next place of a sign, or the text's end. Places must be asked for from left to
 * right. The answer is kept, because a distant sign would be searched again each time.
 */
export function searchForwards(bytes: Buffer, sign: Buffer, budget: DecodeBudget): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found >= from) return found;
    const at = bytes.indexOf(sign, from);
    found = at < 0 ? bytes.length : at;
    budget.work(found - from);
    return found;
  };
}
