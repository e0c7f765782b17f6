/**
 * Returns a field name in the form in which CGI and what came of it compare names (RFC 3875, 4.1.18). There
 * `X_Hook` is `X-Hook`, and some servers take every other sign for `_` as well.
 */
export function foldedName(name: string): string {
  const lower = name.toLowerCase();
  // Most names have nothing to replace, and a search is cheaper than a replacement.
  return /[^a-z0-9-]/.test(lower) ? lower.replace(/[^a-z0-9]/g, '-') : lower;
}

/** Tells whether names are equal once folded. It makes no text, which a set would have to hash. */
export function isSameFolded(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) {
    const code = one.charCodeAt(i);
    const beside = other.charCodeAt(i);
    if (code === beside) continue;
    // Some letters beyond ASCII have lower-case forms in ASCII.
    if (code > asciiMax || beside > asciiMax) return foldedName(one) === foldedName(other);
    if (foldedCode(code) !== foldedCode(beside)) return false;
  }
  return true;
}

const asciiMax = 0x7f;
const hyphen = 0x2d;

function foldedCode(code: number): number {
  const isDigit = code >= 0x30 && code <= 0x39;
  const lower = code | 0x20;
  const isLetter = lower >= 0x61 && lower <= 0x7a;
  if (isLetter) return lower;
  return isDigit ? code : hyphen;
}
