import { isAscii } from '../kernel/bytes.ts';

/* Writes a word in all its spellings. */

/** Returns the spellings that a matcher needs, since it folds only the case of ASCII. */
export function spellings(text: string): Set<string> {
  const lower = text.toLowerCase();
  if (isAscii(lower)) return new Set([lower]);
  const capitalised = lower.charAt(0).toUpperCase() + lower.slice(1);
  return new Set([lower, capitalised, lower.toUpperCase()].flatMap(compositions));
}

/** Returns a text in both forms of letters with a mark: as one character, or as two. */
export const compositions = (text: string): string[] =>
  isAscii(text) ? [text] : [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];
