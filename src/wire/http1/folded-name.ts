/**
 * Returns a field name in the form in which CGI and what came of it compare names (RFC 3875, 4.1.18). There
 * `X_Hook` is `X-Hook`, and some servers take every other sign for `_` as well.
 */
export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  // Most names have nothing to replace, and a search is cheaper than a replacement.
  return /[^a-z0-9-]/.test(lower) ? lower.replace(/[^a-z0-9]/g, '-') : lower;
}

/** Tells whether names are equal once folded. The length spares nearly all others the folding. */
export const isSameFolded = (one: string, other: string): boolean =>
  one.length === other.length && foldedName(one) === foldedName(other);
