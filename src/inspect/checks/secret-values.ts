import type { Checks } from './check.ts';
import { randomBits } from './letter-pairs.ts';
import { passwordBitsMin } from './texts.ts';

/** Matches a line of a Kubernetes Secret: a name, and a value that may stand in quotes. */
const line = /^ {1,16}[\w.-]{1,64}: {1,4}["']?([^\s"']{1,2000})/gm;
const comments = /^ {1,16}#.*$/gm;
/** The least number of characters of a secret. Fewer open nothing. */
const secretLengthMin = 4;
/** Matches signs, numbers that are as long as a port at most, and the password of Kubernetes' manual. */
const noSecret = /^(?:[^0-9A-Za-z]+|\d{1,5}|1f2d1e2e67df)\s*$/;
const printable = /^[\t\n\r -~]+$/;
/** Matches words, and addresses of short words without credentials. */
const words =
  /^(?:[A-Za-z]+(?:[ ._@-][A-Za-z]+){0,8}\d{0,3}|[A-Za-z]+(?: [A-Za-z]+){2,8}\.|[a-z]{2,8}:\/\/(?:localhost|127\.0\.0\.1|[a-z]{1,12}(?:[.-][a-z]{1,12}){0,8})(?::\d{1,5})?(?:\/[a-z]{0,12}){0,4})\s*$/;

/**
 * The least number of bits of a random part of an address. Without it, the words of the other parts would
 * outweigh the random letters of one.
 */
const partBitsMin = 3;
const partLengthMin = 5;
const hasRandomPart = (text: string): boolean =>
  text.includes('://') &&
  text.split(/[/.:-]+/).some((part) => part.length >= partLengthMin && randomBits(part) >= partBitsMin);

/** Matches all of base64, where a decoder would stop at the first `=`. */
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Matches a certificate, a public key, and any PEM without content, which manuals have. */
const publicPem =
  /^-{5}BEGIN (?:TRUSTED )?(?:CERTIFICATE|PUBLIC KEY)|^-{5}BEGIN [A-Z ]{1,32}-{5}\s{0,4}(?:-{5}END|$)/;
/** The beginning of a certificate in base64. */
const certificate = 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FUR';

/** Returns the text of a value: it is in base64 under `data`, and plain under `stringData`. */
function textOf(value: string): string {
  if (!base64.test(value) || value.length % 4 !== 0) return value;
  const decoded = Buffer.from(value, 'base64').toString('latin1');
  return printable.test(decoded) ? decoded : value;
}

/**
 * Tells whether a value of a Kubernetes Secret is more than words, as manuals have: `mypassword`. Without
 * lines, the whole text is the value.
 */
function hasSecretValue(text: string): boolean {
  const lines = Array.from(text.matchAll(line), ([, value = '']) => value);
  return (lines.length > 0 ? lines : [text.replace(comments, '').trim()])
    .map(textOf)
    .some(
      (it) =>
        it.length >= secretLengthMin &&
        !noSecret.test(it) &&
        !publicPem.test(it) &&
        !it.startsWith(certificate) &&
        (!words.test(it) || randomBits(it) >= passwordBitsMin || hasRandomPart(it)),
    );
}

export const secretValueChecks = { 'secret-values': hasSecretValue } as const satisfies Checks;
