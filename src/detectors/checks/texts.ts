import type { Check, Checks } from './check.ts';

const hasDigit = /[0-9]/;
const hasLetter = /[A-Za-z]/;

const randomLettersMin = 20;

/**
 * A digit before a letter and one behind a letter, or letters alone that no word would have in this order: so look random tokens, and
 * not words, names with a number, and numbers.
 */
const isMixed: Check = (text) =>
  (/[0-9][A-Za-z]/.test(text) && /[A-Za-z][0-9]/.test(text)) ||
  (text.length >= randomLettersMin && /^[A-Za-z]+$/.test(text) && /[bcdfghjklmnpqrstvwxz]{5}/i.test(text));

/** Letters with a digit or an unusual sign among them; `user.password1`, `vault:path/x#key` and prose are not. */
function isPasswordLike(text: string): boolean {
  const word = text.replace(/[.,:!?]{1,3}$/, '');
  if (/^[A-Za-z_]{1,64}(?:[./:][A-Za-z_]{0,64}){1,16}\d{0,4}$/.test(word) || /^[a-z]{1,16}:\S/.test(word))
    return false;
  return word.length >= 5 && hasLetter.test(word) && (hasDigit.test(word) || /[!@#$%^*+~?]/.test(word));
}

const fileExtensions = new Set(
  'png jpg jpeg gif svg webp ico css js mjs ts tsx jsx json md html htm txt pdf zip gz tar woff py go rs java rb sh yml yaml map exe dll so'.split(
    ' ',
  ),
);

/** The part behind the last dot can be a top-level domain and is no file's ending (`logo@2x.png`). */
const isEmailDomain: Check = (text) =>
  !fileExtensions.has(text.slice(text.lastIndexOf('.') + 1).toLowerCase());

export const textChecks = {
  mixed: isMixed,
  'password-like': isPasswordLike,
  'email-domain': isEmailDomain,
} as const satisfies Checks;
