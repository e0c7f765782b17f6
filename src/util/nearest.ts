/**
 * Returns the candidate with the fewest wrong letters, which is what a misspelt word was meant to be. These are
 * at most `mistakesMax`, by default one in three. Where all have more, it is the first that begins with the word.
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  mistakesMax?: number,
): string | undefined {
  const lower = word.toLowerCase().slice(0, 64);
  const farthest = mistakesMax ?? Math.max(1, Math.floor(lower.length / 3));
  let best: string | undefined;
  let bestDistance = farthest + 1;
  for (const candidate of candidates) {
    const distance = editDistance(lower, candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best !== undefined || lower.length < 3) return best;
  return candidates.find((candidate) => candidate.toLowerCase().startsWith(lower));
}

/** Returns a text such as `; did you mean github?`, or '' where no candidate is near. */
export function nearestSuggestion(word: string, candidates: readonly string[], mistakesMax?: number): string {
  const near = nearest(word, candidates, mistakesMax);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

/**
 * Counts the letters added, dropped, replaced or swapped (optimal string alignment). Returns at most `bound`.
 */
function editDistance(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) >= bound) return bound;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? bound) + 1 : bound;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return Math.min(row[b.length] ?? bound, bound);
}
