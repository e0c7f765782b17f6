import { packagedWords } from '../../util/files/packaged-lines.ts';
import { undoEscapes } from '../../util/percent.ts';
import type { Detector } from './detector.ts';
import { restLengthMax } from './placeholder.ts';

/*
 * Recognises secrets that documentation prints, beside a detector's own `placeholders`. They are examples of
 * the specifications of OAuth and JWT, secrets shipped with programs to all users, and passwords of manuals
 * and tests.
 */

const texts = packagedWords('published-examples.txt');

/** Matches a word for a password and some digits: `secret1`, `P4ssword`, `my-password123`. */
const wordForPassword =
  /^(?:(?:my|your|the|our|some|a|an|any|new|old|test|user|auth|root|admin|super|very|strong|secure|access|refresh|bearer|session|api|client|id|top|db|default|example|sample|fake|dummy|bad|wrong|weak|not|expired|invalid)[-_ ]?){0,2}(?:p[a4@#][s5$]{1,2}(?:w[o0]r[dt]|wd|phrase|code|w)?|pwd?|kennwort|mot-?de-?passe|contrase(?:ñ|n)a|senha|wachtwoord|parola|has[lł]o|l[oö]senord|adgangskode|salasana|s[e3]cr[e3]t|t[o0]k[e3]n|changeit|changeme|letmein|qwerty|swordfish|opensesame|hunter|foobar|foo|bar|baz)s?[-_ ]?(?:h[e3]r[e3]|h34r|word|value|test|example)?[-_ ]?(?:\d{0,3}[!=$]?|1234)$/i;

/** Matches whatever ends with a word for a password: `B0bP4ssw0rd`, `RootPassword123!`. */
const endsWithPassword = /^[A-Za-z0-9_-]{0,12}p[a4@][s5$]{2}w[o0]rd\d{0,3}!?$/i;

/**
 * Matches letters and digits in order (`abc123@`, `jwt_abc123`), a repeated word, `test1234`, `P@ssw0rd1234!`,
 * the mask `[secure]`.
 */
const series =
  /^(?:[a-z]{2,8}[-_]){1,2}abc[-_]?\d{3}$|^abc(?:d(?:ef?g?)?)?[-_]?123\d{0,9}(?:@ ?%?)?$|^(?:t[e3]st){2,4}\d{0,3}$|^(?:admin){2}$|^(?:test|demo|admin|user)[-_@]?123\d{0,3}[!@#$]?$|^(?:foo|bar|foobar)\d{3,5}$|^supersecure$|^\[[a-z]{4,12}\]$|^[a-z]{2,8}_X{3,}$|^hello[-_ ]?(?:world)?\d{0,3}!?$|^p[a4@][s5$]{2}w[o0]rd1234!$/i;

/**
 * The least number of characters in alphabetical order, and the most others. With these no other character
 * hides a secret.
 */
const inOrderMin = 8;
const othersMax = 5;

/**
 * Tells whether letters and digits stand in the order of the alphabet, or in the reverse order: `ABCDEFGHIJ`,
 * `abcd1234EFGH`.
 */
function isInOrder(text: string): boolean {
  let inOrder = 0;
  for (let at = 0; at < text.length && at - inOrder <= othersMax; at++)
    if (isMiddle(text, at - 1) || isMiddle(text, at) || isMiddle(text, at + 1)) inOrder++;
  return inOrder >= inOrderMin && text.length - inOrder <= othersMax;
}

/** Tells whether a character is the middle of three in a row. Two in a row stand in hexadecimal by chance. */
function isMiddle(text: string, at: number): boolean {
  const step = rankAt(text, at) - rankAt(text, at - 1);
  return Math.abs(step) === 1 && rankAt(text, at + 1) - rankAt(text, at) === step;
}

/**
 * The rank of `a` among letters and digits, each kind of which is ranked in its order. Other characters have
 * no rank.
 */
const rankOfA = 100;
function rankAt(text: string, at: number): number {
  const code = at < 0 ? 0 : text.charCodeAt(at) | 0x20;
  if (code >= 0x61 && code <= 0x7a) return rankOfA + code - 0x61;
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : Number.NaN;
}

/** Matches the id of an AWS key of which a manual has replaced a part: `AKIAIESZCNJ3OEXAMPLE`. */
const markedId = /^(?:AKIA|ASIA|AROA|AIDA)(?=[A-Z0-9]{16,17}$)[A-Z0-9]{0,10}EXAMPLE/;

const marks = /EXAMPLE(?:KEY|TOKEN)?|example$|(?<!\.)\.\.\.(?!\.)/;

/** Tells whether a manual has marked a short value, or shows only both ends of it: `eyJra123abcEXAMPLE`. */
const isMarked = (text: string): boolean =>
  markedId.test(text) || (marks.test(text) && text.replace(marks, '').length <= restLengthMax);

/** Matches a key in PEM of which hardly anything is shown. */
const elided = /^-----BEGIN [A-Z ]{3,24}-----[0-9A-Za-z+/=\s\\]{0,24}\.{3,8}[0-9A-Za-z+/=\s\\]{0,8}-----END/;

/**
 * Matches words in small letters that tell what they stand for: `aws_secret_access_key`,
 * `password-for-30001`, `a%20secret`, `proxypass`.
 */
const wordsForPassword =
  /^(?:[a-z]|%2[06D]|[-_. +]|\d(?=[-_. ])){0,40}?(?:password|passwd|passphrase|secret|access[-_]?key|api[-_]?key)(?:[a-z]|%2[06D]|[-_. +]){0,40}\d{0,5}$|^[a-z]{2,12}pass$|^pass(?:[-_/&%|@:;.!]{1,4}[a-z]{0,10}){1,2}$/;

/** Matches a whole key in PEM (RFC 7468), and captures what stands between its first and last line. */
const pem = /^-----BEGIN [A-Z ]{3,24}-----([0-9A-Za-z+/=\s\\.]{4,512})-----END/;

/** Matches the heads of RSA keys (RFC 8017, A.1.2; RFC 5208): the length, version 0 and what follows. */
const rsaHead = /^3082(?:01[2-9a-f]|0[2-9a-f][\da-f]|1[0-3][\da-f])[\da-f]020100(?:0282|300d)/;
/** The divisor of an RSA key's length. The first fifth of such a key holds at most its public part. */
const publicShare = 5;

/**
 * Tells whether a text is an RSA key of which a manual shows only the first lines, in which nothing is
 * secret.
 */
function isCutKey(text: string): boolean {
  const body = pem.exec(text)?.[1];
  if (body === undefined) return false;
  const bytes = Buffer.from(body.replace(/\\[nr]|[^0-9A-Za-z+/]/g, ''), 'base64');
  return rsaHead.test(bytes.toString('hex', 0, 9)) && publicShare * bytes.length < bytes.readUInt16BE(2);
}

/**
 * Matches payloads of published tokens: `sub` of jwt.io, `iss` of RFC 7519, and payloads such as
 * `{"some":"payload"}`.
 */
const jwtPayload =
  /"(?:sub"\s?:\s?"1234567890|iss"\s?:\s?"joe"|some"\s?:\s?"payload|foo"\s?:\s?"bar|hello"\s?:\s?"world|key"\s?:\s?"value|iss"\s?:\s?"supabase-demo)/;
const jwt = /^eyJ[\w-]{8,512}\.(eyJ[\w-]{4,2048})/;

/**
 * Matches test cards of processors: Visa, Mastercard, American Express, Discover, Diners, JCB and UnionPay.
 */
const testCard =
  /^(?:4111111111111111|4242424242424242|4012888888881881|400000000000\d{4}|4000056655665556|4222222222222|5555555555554444|5105105105105100|5200828282828210|2223003122003222|378282246310005|371449635398431|378734493671000|6011111111111117|6011000990139424|30569309025904|38520000023237|3530111333300000|3566002020360505|6200000000000005)$/;

/** Matches names of variables that stand for what is in them: `CLIENT_SECRET`. */
const variableName = /^(?:[A-Z][A-Z\d]{1,11}_){1,5}(?:PASSWORD|PASSWD|SECRET|TOKEN|KEY)\d?$/;

/**
 * Matches public tokens of Mapbox, projects of PostHog and clients of Datadog. Every page with a map shows
 * the first, every page that reports its use the others.
 */
const publicToken = /^pk\.eyJ[\w-]{20,240}\.[\w-]{20,24}$|^phc_[0-9A-Za-z]{38,48}$|^pub[\da-f]{32}$/;

const isOfManuals = (text: string): boolean =>
  texts().has(text) ||
  variableName.test(text) ||
  publicToken.test(text) ||
  wordForPassword.test(text) ||
  endsWithPassword.test(text) ||
  wordsForPassword.test(text) ||
  series.test(text) ||
  isMarked(text) ||
  elided.test(text) ||
  isCutKey(text) ||
  isInOrder(text);

/** Bound on the length of Basic credentials that have a user with a short name and such a password. */
const basicMax = 96;
const basic = /^[0-9A-Za-z+/]{10,96}={0,2}$/;
const credentials = /^[\w.@-]{1,32}:([ -~]{3,40})$/;

/** Matches what may be the words of a password. */
const words = /^([\w. -]{4,60})\n?$/;

const beyondAscii = /[\x80-\xff]/;
const accents = /[\u0300-\u036f ]/g;

/**
 * Returns a password as people type it, without blanks and accents, where a URL has it in percent escapes or
 * a header in base64. Returns undefined for other values.
 */
function speltOut(secret: string): string | undefined {
  if (secret.includes('%') || beyondAscii.test(secret)) {
    const plain = undoEscapes(secret);
    return Buffer.from(plain, 'latin1').toString().normalize('NFKD').replace(accents, '');
  }
  if (secret.length > basicMax || !basic.test(secret)) return undefined;
  const plain = Buffer.from(secret, 'base64').toString('latin1');
  return credentials.exec(plain)?.[1] ?? words.exec(plain)?.[1];
}

const unsigned = /^(eyJhbGciOiJub25l[\w-]{0,128})\.(eyJ[\w-]{0,4096})\.?$/;

/**
 * Tells whether a token states that nobody has signed it (RFC 7519, section 6). Whoever trusts it trusts all.
 */
function isUnsigned(text: string): boolean {
  const [, head, payload] = (unsigned.exec(text) ?? []).map((it) =>
    Buffer.from(it, 'base64url').toString('latin1'),
  );
  return head !== undefined && /^\{"alg":"none"[,}]/.test(head) && payload?.endsWith('}') === true;
}

/** Tells whether documentation prints the value as an example. */
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
  if (isOfManuals(secret)) return true;
  const spelt = speltOut(secret);
  if (spelt !== undefined && isOfManuals(spelt)) return true;
  if (isUnsigned(secret)) return true;
  const payload = jwt.exec(secret)?.[1];
  return payload !== undefined && jwtPayload.test(Buffer.from(payload, 'base64url').toString('latin1'));
}
