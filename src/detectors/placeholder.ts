/*
 * What stands where a secret would stand: `changeme`, `<your-token>`, `${DB_PASSWORD}`, `xxxxxxxx`. Found in documentation, templates
 * and tests everywhere; reported with low confidence, which sets no class.
 */

const words =
  /example|placeholder|changeme|change[-_]me|redacted|dummy|your[-_ ]|insert[-_ ]|replace[-_ ]|todo|removed|hidden|masked|not[-_ ]?real/i;
/** The whole is a reference that something else resolves: shell, templates, CI, vaults, code. */
const reference =
  /^(?:\$\{|\$\(|\$[A-Za-z_]|\{\{|<[^<>]{0,128}>?$|%[A-Z_]{1,64}%|#\{|@[A-Za-z.]{1,64}\(|(?:process\.env|os\.environ|os\.getenv|ENV|env|secrets|vault|ssm|op|arn|var|data|local|config|settings|self|this|req|request|ctx|args|opts|options|params|props)[.([:/])/;
/** One character, or one pair, over and over. */
const monotone = /^(.{1,2})\1{2,127}.?$/;
const longRun = /([*xX.#_0-])\1{5,}/;

/** Whether the text plainly stands for a secret instead of being one. */
export function isPlaceholder(text: string): boolean {
  const head = text.slice(0, 512);
  return words.test(head) || reference.test(head) || monotone.test(head) || longRun.test(head);
}
