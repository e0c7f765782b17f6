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

const counts = new Uint32Array(256);

/** Returns Shannon's entropy of a text of bytes, in bits per character. */
export function entropyBits(text: string): number {
  const { length } = text;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    counts[code] = (counts[code] as number) + 1;
  }
  let bits = 0;
  for (let at = 0; at < length; at += 1) {
    const code = text.charCodeAt(at);
    const share = (counts[code] as number) / length;
    // Each character counts once.
    if (share > 0) bits -= share * Math.log2(share);
    counts[code] = 0;
  }
  return bits;
}
