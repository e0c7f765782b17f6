/*
 * Writes a keyword as texts and programs do: `tax id` is also `tax_id`, `tax-id` and `taxid`, and `numéro fiscal` is
 * `numero fiscal` where a field may have no accents.
 */

const joint = /(?<=[\p{L}\p{N}])[ _-](?=[\p{L}\p{N}])/gu;
const joints = [' ', '_', '-'];
/** Shorter ones are words of other meanings when their parts are joined, as `sa id` is. */
const joinedLengthMin = 6;
/** Shorter ones are words of other meanings without accents, as `né le` is. */
const plainLengthMin = 7;

const accented = /[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]/g;
const marks = /\p{M}/gu;
/** Letters that have no accent to take away. */
const plainLetters: Readonly<Record<string, string>> = {
  ...{ ø: 'o', æ: 'ae', œ: 'oe', ß: 'ss', ł: 'l', đ: 'd', ı: 'i', ð: 'd', þ: 'th' },
};
/** Letters that some languages write as two where they have no accents. */
const pairs: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' };

/** Small words between two others, which the names of fields leave out: `clave de elector` is `clave_elector`. */
const between = /(?<=[\p{L}\p{N}] )(?:d[aeiou]|de[ils]|das|dos|des|of) (?=[\p{L}\p{N}])/gu;
/** Articles before a vowel: `carta d'identità`. */
const beforeVowel = /(?<= )[dl]['\u2019](?=\p{L})/gu;

/** Returns a keyword in all its forms, itself first. */
export function formsOf(keyword: string): string[] {
  const short = keyword.replace(between, '').replace(beforeVowel, '');
  const words = [keyword, short].flatMap((word) => [word, ...plainFormsOf(word)]);
  return [...new Set(words.flatMap((word) => [word, ...joinedFormsOf(word)]))];
}

function joinedFormsOf(word: string): string[] {
  const parts = word.split(joint);
  if (parts.length === 1) return [];
  const joined = parts.join('');
  return [...joints.map((it) => parts.join(it)), ...(joined.length < joinedLengthMin ? [] : [joined])];
}

/** Returns the keyword without accents, in the ways that languages have; none where it has none. */
function plainFormsOf(keyword: string): string[] {
  if (keyword.length < plainLengthMin || keyword.toLowerCase().search(accented) < 0) return [];
  const lower = keyword.toLowerCase();
  const withPairs = lower.replace(accented, (letter) => pairs[letter] ?? letter);
  return [lower, withPairs].map((word) => word.replace(accented, plainLetterOf));
}

const plainLetterOf = (letter: string): string =>
  plainLetters[letter] ?? letter.normalize('NFD').replace(marks, '');
