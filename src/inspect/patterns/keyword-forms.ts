/*
 * Writes a keyword as the names of fields do. `tax id` is also `tax_id` and `taxid`, and `Número de cédula`
 * is `numero_cedula`. Each form is a word more to search, so only those are made that programs have.
 */

const joint = /(?<=[\p{L}\p{N}])[ _-](?=[\p{L}\p{N}])/u;
/**
 * Matches small words between two others, which the names of fields leave out: `clave de elector` is
 * `clave_elector`.
 */
const between = /(?<=[\p{L}\p{N}] )(?:d[aeiou]|de[ils]|das|dos|des|of) (?=[\p{L}\p{N}])/gu;
/** Matches articles before a vowel: `carta d'identità`. */
const beforeVowel = /(?<= )[dl]['\u2019](?=\p{L})/gu;
/**
 * The least length of a keyword whose parts are joined. Shorter ones are then words of other meanings, as
 * `said` is.
 */
const joinedLengthMin = 6;
/**
 * The least length of a keyword that is written without accents. Shorter ones are then words of other
 * meanings, as `ne le` is.
 */
const plainLengthMin = 7;

/** Matches Latin and Greek letters with an accent. */
const accented = /[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]/g;
const marks = /\p{M}/gu;
const isAscii = (word: string): boolean => /^[\x20-\x7e]*$/.test(word);
/** What is written for letters that have no accent to take away. */
const plainLetters: Readonly<Record<string, string>> = {
  ...{ ø: 'o', æ: 'ae', œ: 'oe', ß: 'ss', ł: 'l', đ: 'd', ı: 'i', ð: 'd', þ: 'th' },
};
/** What some languages write for letters where they have no accents. */
const pairs: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' };

/** Returns a keyword in all its forms, the first of which is the keyword itself. */
export function formsOf(keyword: string): string[] {
  const plain = plainFormsOf(keyword);
  const short = [keyword, ...plain].map((word) => word.replace(between, '').replace(beforeVowel, ''));
  return [...new Set([keyword, ...plain, ...[keyword, ...plain, ...short].flatMap(joinedFormsOf)])];
}

function joinedFormsOf(word: string): string[] {
  const parts = word.split(joint);
  if (parts.length === 1 || !isAscii(word)) return [];
  const joined = parts.join('');
  return [parts.join('_'), ...(joined.length < joinedLengthMin ? [] : [joined])];
}

/**
 * Returns the keyword without accents, in the ways that languages have. Returns none where it has no accents
 * or is short.
 */
function plainFormsOf(keyword: string): string[] {
  const lower = keyword.toLowerCase();
  if (keyword.length < plainLengthMin || lower.search(accented) < 0) return [];
  const withPairs = lower.replace(accented, (letter) => pairs[letter] ?? letter);
  return [lower, withPairs].map((word) => word.replace(accented, plainLetterOf));
}

const plainLetterOf = (letter: string): string =>
  plainLetters[letter] ?? letter.normalize('NFD').replace(marks, '');
