import { entropyBits } from '../checks/checks.ts';

/*
 * Recognises placeholders, such as `changeme`, `<your-token>`, `${DB_PASSWORD}` and `xxxxxxxx`.
 * Documentation, templates and tests are full of them. They have low confidence, with which a finding sets no
 * class.
 *
 * A greedy pattern may include what the sender wrote behind a secret, so one such word proves nothing. What
 * is left without all such words must be too little for a secret.
 */

const words =
  /example|placeholder|changeme|change[-_]me|redacted|dummy|your[-_ @]|insert[-_ ]|replace[-_ ]|todo|removed|hidden|masked|not[-_ ]?re[a@]l|1234567890|a1b2c3d4|(?:token|key|string)[-_ ]?here/i;
/** Matches the beginning of a reference that something else resolves: shell, templates, CI, vaults, code. */
const reference =
  /^(?:\$\{|\$\(|\$[A-Za-z_]|\{\{|<[^<>]{0,128}>?$|%[A-Za-z_]{1,64}%|%\(|#\{|\{[A-Za-z_][\w.]{0,40}(?:\([\w., ]{0,60}\))?\}$|@[A-Za-z.]{1,64}[(@]|(?:process\.env|os\.environ|os\.getenv|ENV|env|secrets|vault|ssm|op|arn|var|data|local|config|settings|self|this|req|request|ctx|args|opts|options|params|props)[.([:/])/;
/** Matches one character, or one pair of characters, over and over, and so the dots of a mask in UTF-8. */
const monotone = /^(.{1,2}|[\xe2\xef][\x80-\xbf]{2})\1{2,}.?$/;
const longRun = /([*xX.#_0-])\1{5,}/;
/** Matches a value whose middle is masked, with less on either side than is masked: `YjM1MXXXXXXXXXXXXXXXXXXXXXXXXXXjCg==`. */
const maskedMiddle = /^[^xX*]{0,10}([xX*])\1{23,}[^xX*]{0,14}$/;
/**
 * Matches text that nobody needs to keep secret: the words above, words that stand alone, repeated
 * characters, alphabets and signs.
 */
const filler =
  /(?i:example|placeholder|changeme|redacted|dummy|a1b2c3d4(?:e5(?:f6)?)?(?:g7h8(?:i9)?(?:j0)?)?)|(.)\1{3,}|0?123456789?0?|(?i:abcdefg?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?)|(?<![0-9A-Za-z])(?:[A-Z]{2,16}|[A-Za-z][a-z]{1,15}(?:[A-Z][a-z]{1,15}){0,7})\d{0,2}(?![0-9A-Za-z])|[\W_]/g;
/**
 * Bound on the entropy of a body behind a known prefix, in bits a character. Sixteen random hexadecimal
 * digits have more.
 */
const bodyEntropyMax = 3;
/**
 * Bound on the length of what is left of a text without a prefix, and of what stands beside the mark of an
 * example.
 */
export const restLengthMax = 12;

/**
 * Tells whether the text is plainly a placeholder. Its first `prefixLength` characters are the same in all
 * such secrets.
 */
export function isPlaceholder(text: string, prefixLength: number): boolean {
  const body = text.slice(prefixLength);
  if (monotone.test(body) || maskedMiddle.test(body)) return true;
  if (!words.test(text) && !reference.test(text) && !longRun.test(text)) return false;
  const rest = body.replace(filler, '');
  if (prefixLength > 0) return entropyBits(rest) < bodyEntropyMax;
  return rest.length <= restLengthMax && rest.length * 2 <= text.length;
}
