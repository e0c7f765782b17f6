import type { Detector } from './detector.ts';

/*
 * Secrets that documentation prints for everybody to read, beside those that a detector has as its own (`placeholders`): those of the
 * specifications of OAuth and JWT, and passwords that stand in manuals and tests because nobody would take them for one.
 */

const texts: ReadonlySet<string> = new Set([
  // RFC 6749, 6750, 7009, 7617, 7636 and 8693.
  ...[
    '2YotnFZFEjr1zCsicMWpAA',
    'tGzv3JOkF0XG5Qx2TlKWIA',
    'SplxlOBeZQQYbYS6WxSbIA',
    'mF_9.B5f-4.1JqM',
    'vF9dft4qmT',
  ],
  ...['czZCaGRSa3F0MzpnWDFmQmF0M2JW', 'gX1fBat3bV', '7Fjfp0ZBr1KtDRbnfVdmIw', '45ghiukldjahdnhzdauz'],
  ...[
    'QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
    'QWxhZGRpbjpPcGVuU2VzYW1l',
    'dGVzdDoxMjPCow==',
    'dXNlcjpwYXNz',
    'dXNlcjpwYXNzd29yZA==',
  ],
  ...['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  // Manuals of systemd and PostgreSQL, and FTP as everybody uses it.
  ...[
    'jw8s0F4',
    'xyzzy',
    'EEGlnEPYJV//kbvvIqxKkQwOiS+UENyPncC4bF46ong=',
    'Bxyzzy',
    'anonymous@',
    '-anonymous@',
    'anonymous@example.com',
  ],
  ...[
    'hunter2',
    'correcthorsebatterystaple',
    'correct-horse-battery-staple',
    'abc123',
    '123456',
    '12345678',
    '123456789',
    '1234567890',
  ],
]);

/** A word for a password and a few digits: `secret1`, `P4ssword`, `my-password123`, `authpassword`. */
const wordForPassword =
  /^(?:(?:my|your|the|our|some|a|an|any|new|old|test|user|auth|root|admin|super|very|top|db|default|example|sample|fake|dummy|bad|wrong|weak)[-_ ]?){0,2}(?:p[a4@]ss(?:w[o0]rd|wd|phrase|code|w)?|pwd?|s[e3]cr[e3]t|t[o0]k[e3]n|changeit|changeme|letmein|qwerty|swordfish|opensesame|hunter|foobar|foo|bar|baz)s?[-_ ]?(?:h[e3]r[e3]|h34r|word|value|test|example)?[-_ ]?\d{0,3}!?$/i;

/** Words in small letters, of which one says what they stand for: `aws_secret_access_key`, `password-for-30001`, `a%20secret`. */
const wordsForPassword =
  /^(?:[a-z]|%20|[-_. ]){0,40}?(?:password|passwd|passphrase|secret|access[-_]?key|api[-_]?key)(?:[a-z]|%20|[-_. ]){0,40}\d{0,5}$/;

/** `alg` and `typ` in any order; `sub` of jwt.io, `iss` of RFC 7519, and payloads such as `{"some":"payload"}`. */
const jwtPayload =
  /"(?:sub"\s?:\s?"1234567890|iss"\s?:\s?"joe"|some"\s?:\s?"payload|foo"\s?:\s?"bar|hello"\s?:\s?"world|key"\s?:\s?"value)/;
const jwt = /^eyJ[\w-]{8,512}\.(eyJ[\w-]{4,2048})/;

/** Cards that payment processors publish for tests: Visa, Mastercard, American Express, Discover, Diners, JCB, UnionPay. */
const testCard =
  /^(?:4111111111111111|4242424242424242|4012888888881881|400000000000\d{4}|4000056655665556|4222222222222|5555555555554444|5105105105105100|5200828282828210|2223003122003222|378282246310005|371449635398431|378734493671000|6011111111111117|6011000990139424|30569309025904|38520000023237|3530111333300000|3566002020360505|6200000000000005)$/;

/** Whether the value is one that documentation prints as an example. */
export function isPublishedExample(
  detector: Pick<Detector, 'class' | 'placeholders'>,
  secret: string,
): boolean {
  const isOwn = detector.placeholders.some((known) =>
    typeof known === 'string' ? known === secret : known.test(secret),
  );
  if (isOwn) return true;
  if (detector.class === 'PII') return testCard.test(secret.replace(/[ -]/g, ''));
  if (detector.class !== 'SECRETS') return false;
  if (texts.has(secret) || wordForPassword.test(secret) || wordsForPassword.test(secret)) return true;
  const payload = jwt.exec(secret)?.[1];
  return payload !== undefined && jwtPayload.test(Buffer.from(payload, 'base64url').toString('latin1'));
}
