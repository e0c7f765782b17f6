import { accountChecks } from './accounts.ts';
import { fullNameChecks } from './full-names.ts';
import { healthChecks } from './health.ts';
import { identityChecks } from './identity.ts';
import { networkChecks } from './network.ts';
import { passedOnChecks } from './passed-on.ts';
import { paymentChecks } from './payment.ts';
import { personChecks } from './persons.ts';
import { phoneChecks } from './phones.ts';
import { randomnessChecks } from './randomness.ts';
import { secretValueChecks } from './secret-values.ts';
import { textChecks } from './texts.ts';
import { tokenChecks } from './tokens.ts';
import { walletChecks } from './wallets.ts';

/*
 * Checks what a pattern cannot express: check digits, checksums, the content of an encoding. A detector names
 * its check in YAML. The check sees the secret as it stands in the text. Each family of checks has a file.
 */

/** All checks by the names that YAML files use. */
export const checks = {
  ...paymentChecks,
  ...identityChecks,
  ...phoneChecks,
  ...personChecks,
  ...tokenChecks,
  ...textChecks,
  ...passedOnChecks,
  ...fullNameChecks,
  ...healthChecks,
  ...networkChecks,
  ...accountChecks,
  ...randomnessChecks,
  ...walletChecks,
  ...secretValueChecks,
} as const;

export type CheckName = keyof typeof checks;

/** Returns Shannon's entropy of the text, in bits per character. */
export function entropyBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
