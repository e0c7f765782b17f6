import type { Detector } from './detector.ts';
import { restLengthMax } from './placeholder.ts';

/*
 * Recognises secrets that documentation prints, beside a detector's own `placeholders`. They are examples of
 * the specifications of OAuth and JWT, secrets shipped with programs to all users, and passwords of manuals
 * and tests.
 */

const texts: ReadonlySet<string> = new Set([
  // RFC 6749, 6750, 7009, 7617, 7636 and 8693.
  ...[
    '2YotnFZFEjr1zCsicMWpAA',
    'tGzv3JOkF0XG5Qx2TlKWIA',
    'SplxlOBeZQQYbYS6WxSbIA',
    'mF_9.B5f-4.1JqM',
    'vF9dft4qmT',
    'A3ddj3w',
  ],
  // RFC 9449, the draft of MAC tokens, the README of Google Authenticator, and the manual of Flask.
  ...['Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU', 'h480djs93hd8', '_5#y2L'],
  ...['JBSWY3DPEHPK3PXP', 'jbswy3dpehpk3pxp'],
  ...['czZCaGRSa3F0MzpnWDFmQmF0M2JW', 'gX1fBat3bV', '7Fjfp0ZBr1KtDRbnfVdmIw', '45ghiukldjahdnhzdauz'],
  ...[
    'QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
    'QWxhZGRpbjpPcGVuU2VzYW1l',
    'dGVzdDoxMjPCow==',
    'dXNlcjpwYXNz',
    'dXNlcjpwYXNzd29yZA==',
  ],
  ...['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk', 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  // RFC 5849 (OAuth 1.0), the specification before it, and the manual of oauthlib.
  ...[
    'dpf43f3p2l4k3l03',
    'jd83jd92dhsh93js',
    'kd94hf93k423kf44',
    'hh5s93j4hdidpola',
    'hdhd0244k9j7ao03',
    'nnch734d00sl2jdk',
  ],
  ...[
    'pfkkdhi9sl3r4s00',
    '0685bd9184jfhq22',
    'ad180jjd733klru7',
    '9djdj82h48djs9d2',
    'kkk9d7dh3k39sjv7',
    'dh893hdasih9',
  ],
  ...['lsdkfol23w54jlksdef', 'qwe089234lkjsdf', 'lkjhasdfkjh', '234lsdkf....'],
  ...['sldafh309sdf', 'kjfch2345sdf', 'askfjh234as9sd8'],
  // The API of Telegram, the README of node-forge, and apt_auth.conf(5).
  ...['123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11', 'Mai9ohgh6ahxee0jutheew0pungoozil', 'debian'],
  // Shipped with the programs of Google Cloud and with Chromium in Debian.
  ...['d-FL95Q19q7MQmFpd7hHD0Ty', 'ZmssLNjJy2998hD4CTg2ejr2', 'kdloedMFGdGla2P1zacGjAQh'],
  ...['AIzaSyCkfPOPZXDKNn8hhgu3JrA62wIgC93d44k', 'AIzaSyDnacJHrKma0048b13sh8cgxNUwulubmJM'],
  // RFC 7628, the manuals of Kafka and of the AWS command line.
  ...['vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg', 'vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=='],
  // Shipped with MinIO, and what stands for a password beside a token of GitHub.
  ...['minioadmin', 'minio123', 'x-oauth-basic'],
  ...[
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY',
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    'je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY',
    '8P+SQvWIuLnKhh8d++jpw0nNmQRBZvNEXAMPLEKEY',
    '9drTJvcXLB89EXAMPLELB8923FB892xMFI',
    '0xzxgA9YoW9h58u8SEXAMPLE',
    '0xzxgA9YoW9h58u8EXAMPLE',
    '0xC_ukbCerl6EYA0example',
  ],
  ...['lAYYSFmLs4bTjf+lTZ1LCHR/ZZFNA==', 'AIzaSyClE2lcV2zEKTLYYo645zfk2jhQPFeyxDo'],
  // The manuals of FastAPI, Flask, Symfony, Ruby on Rails and Traefik.
  ...[
    '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
    '$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW',
    '$argon2id$v=19$m=65536,t=3,p=4$wagCPXjifgvUFBzq4hqe3w$CYaIb8sB+wtD+Vu/P4uod1+Qof8h+1g7bbDlBID48Rc',
    '$argon2id$v=19$m=65536,t=3,p=4$g2/AV1zwopqUntPKJavBFw$BwpRGDCyUHLvHICnwijyX8ROGoiUPwNKZ7915MeYfCE',
    '192b9bdd22ab9ed4d12e236c78afcb9a393ec15f71bbf5dc987d54727823bcbf',
    '5f352379324c22463451387a0aec5d2f',
    'cc86c7ca937636d5ddf1b754beb22a10',
    '3b7cd727ee24e8444053437c36cc66c3',
    'lGRKzINTrMTDSuuOIr6r5kdq2sH6S6Ii',
    '$apr1$H6uskkkW$IgXLP6ewTrSuBkTrqE8wj/',
    '$apr1$d9hr9HBB$4HxwgUir3HP4EsggP/QNo0',
    'abc+12/345',
  ],
  // The manuals of AWS STS and AWS DataSync.
  'FwoGZXIvYXdzEBYaDH7example',
  'AQoEXAMPLEH4aoAH0gNCAPyJxz4BlCFFxWNE1OPTgk5TthT+FvwqnKwRcOIfrRh3c/LTo6UDdyJwOOvEVPvLXCrrrUtdnniCEXAMPLE/IvU1dYUg2RVAJBanLiHb4IgRmpRV3zrkuWJOgQs8IZZaIv2BXIa2R4OlgkBN9bkUDNCJiBeb/AXlzBBko7b15fjrBs2+cTQtpZ3CYWFXG8C5zqx37wnOE49mRl/+OtkIKGO7fAE',
  ...[
    'aBBKDWQvyuVcTPH9EBp%2FXTI9E%2F%2Fmq171%2BZU178wcwqU%3D',
    'aBBKDWQvyuVcTPH9EBp/XTI9E//mq171+ZU178wcwqU=',
  ],
  // The manual of PostgreSQL.
  'SCRAM-SHA-256$4096:44560wPMLfjqiAzyPDZ/eQ==$4CA054rZlSFEq8Z3FEhToBTa2X6KnWFxFkPwIbKoDe0=:L/nbSZRCjp6RhOhKK56GoR1zibCCSePKshCJ9lnl3yw=',
  // Manuals of systemd and PostgreSQL, and the usual anonymous FTP logins.
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
    'geheim$parole', // Python, urllib.request
    'correcthorsebatterystaple',
    'correct-horse-battery-staple',
    'abc123',
    '123456',
    '12345678',
    '123456789',
    '1234567890',
  ],
]);

/** Matches a word for a password and some digits: `secret1`, `P4ssword`, `my-password123`. */
const wordForPassword =
  /^(?:(?:my|your|the|our|some|a|an|any|new|old|test|user|auth|root|admin|super|very|strong|secure|access|refresh|bearer|session|api|client|id|top|db|default|example|sample|fake|dummy|bad|wrong|weak|not|expired|invalid)[-_ ]?){0,2}(?:p[a4@#]ss?(?:w[o0]r[dt]|wd|phrase|code|w)?|pwd?|kennwort|mot-?de-?passe|contrase(?:ñ|n)a|senha|wachtwoord|parola|has[lł]o|l[oö]senord|adgangskode|salasana|s[e3]cr[e3]t|t[o0]k[e3]n|changeit|changeme|letmein|qwerty|swordfish|opensesame|hunter|foobar|foo|bar|baz)s?[-_ ]?(?:h[e3]r[e3]|h34r|word|value|test|example)?[-_ ]?(?:\d{0,3}[!=]?|1234)$/i;

/** Matches whatever ends with a word for a password: `B0bP4ssw0rd`, `RootPassword123!`. */
const endsWithPassword = /^[A-Za-z0-9_-]{0,12}p[a4@][s5$]{2}w[o0]rd\d{0,3}!?$/i;

/** Matches letters and digits in order (`abc123@`), a repeated word, `test1234`, the mask `[secure]`. */
const series =
  /^abc(?:d(?:ef?g?)?)?[-_]?123\d{0,9}(?:@ ?%?)?$|^(?:t[e3]st){2,4}\d{0,3}$|^(?:admin){2}$|^(?:test|demo|admin|user)[-_]?123\d{0,3}$|^(?:foo|bar|foobar)\d{3,5}$|^supersecure$|^\[[a-z]{4,12}\]$|^[a-z]{2,8}_X{3,}$|^hello123$/i;

/** Are the least characters in alphabetical order, and the most others, so that none hides a secret. */
const inOrderMin = 8;
const othersMax = 5;

/** Tells letters and digits in the order of the alphabet, or in the reverse: `ABCDEFGHIJ`, `abcd1234EFGH`. */
function isInOrder(text: string): boolean {
  let inOrder = 0;
  for (let at = 0; at < text.length && at - inOrder <= othersMax; at++)
    if (isMiddle(text, at - 1) || isMiddle(text, at) || isMiddle(text, at + 1)) inOrder++;
  return inOrder >= inOrderMin && text.length - inOrder <= othersMax;
}

/** Tells the middle of three in a row; two in a row stand in hexadecimal by chance. */
function isMiddle(text: string, at: number): boolean {
  const step = rankAt(text, at) - rankAt(text, at - 1);
  return Math.abs(step) === 1 && rankAt(text, at + 1) - rankAt(text, at) === step;
}

/** Numbers letters and digits, each kind in its order. All else is in no order. */
const rankOfA = 100;
function rankAt(text: string, at: number): number {
  const code = at < 0 ? 0 : text.charCodeAt(at) | 0x20;
  if (code >= 0x61 && code <= 0x7a) return rankOfA + code - 0x61;
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : Number.NaN;
}

/** Matches the id of an AWS key of which the manual has replaced a part: `AKIAIESZCNJ3OEXAMPLE`. */
const markedId = /^(?:AKIA|ASIA|AROA|AIDA)(?=[A-Z0-9]{16,17}$)[A-Z0-9]{0,10}EXAMPLE/;

const marks = /EXAMPLE(?:KEY|TOKEN)?|example$|(?<!\.)\.\.\.(?!\.)/;

/** Tells short values that a manual has marked, or of which it shows both ends: `eyJra123abcEXAMPLE`. */
const isMarked = (text: string): boolean =>
  markedId.test(text) || (marks.test(text) && text.replace(marks, '').length <= restLengthMax);

/** Matches a key in PEM of which hardly anything is shown. */
const elided = /^-----BEGIN [A-Z ]{3,24}-----[0-9A-Za-z+/=\s\\]{0,24}\.{3,8}[0-9A-Za-z+/=\s\\]{0,8}-----END/;

/**
 * Matches words in small letters that say what they stand for: `aws_secret_access_key`, `password-for-30001`,
 * `a%20secret`, `proxypass`.
 */
const wordsForPassword =
  /^(?:[a-z]|%2[06D]|[-_. +]|\d(?=[-_. ])){0,40}?(?:password|passwd|passphrase|secret|access[-_]?key|api[-_]?key)(?:[a-z]|%2[06D]|[-_. +]){0,40}\d{0,5}$|^[a-z]{2,12}pass$/;

/** Matches a whole key in PEM (RFC 7468), and takes what stands between its lines. */
const pem = /^-----BEGIN [A-Z ]{3,24}-----([0-9A-Za-z+/=\s\\.]{4,512})-----END/;

/** Matches heads of RSA keys (RFC 8017, A.1.2; RFC 5208): the length, version 0 and what follows. */
const rsaHead = /^3082(?:01[2-9a-f]|0[2-9a-f][\da-f]|1[0-3][\da-f])[\da-f]020100(?:0282|300d)/;
/** The first fifth of an RSA key holds at most its public part. */
const publicShare = 5;

/** Tells an RSA key of which a manual shows the first line only. */
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

/** Matches processors' test cards: Visa, Mastercard, American Express, Discover, Diners, JCB, UnionPay. */
const testCard =
  /^(?:4111111111111111|4242424242424242|4012888888881881|400000000000\d{4}|4000056655665556|4222222222222|5555555555554444|5105105105105100|5200828282828210|2223003122003222|378282246310005|371449635398431|378734493671000|6011111111111117|6011000990139424|30569309025904|38520000023237|3530111333300000|3566002020360505|6200000000000005)$/;

/** Matches names of variables that stand for what is in them: `CLIENT_SECRET`. */
const variableName = /^(?:[A-Z][A-Z\d]{1,11}_){1,5}(?:PASSWORD|PASSWD|SECRET|TOKEN|KEY)$/;

const isOfManuals = (text: string): boolean =>
  texts.has(text) ||
  variableName.test(text) ||
  wordForPassword.test(text) ||
  endsWithPassword.test(text) ||
  wordsForPassword.test(text) ||
  series.test(text) ||
  isMarked(text) ||
  elided.test(text) ||
  isCutKey(text) ||
  isInOrder(text);

const percent = /%[\dA-Fa-f]{2}/g;
/** Limits Basic credentials of a user with a short name and such a password. */
const basicMax = 96;
const basic = /^[0-9A-Za-z+/]{10,96}={0,2}$/;
const credentials = /^[\w.@-]{1,32}:([ -~]{3,40})$/;

/** Matches what may be the words of a password. */
const words = /^([\w. -]{4,60})\n?$/;

const beyondAscii = /[\x80-\xff]/;
const accents = /[\u0300-\u036f ]/g;

/**
 * Returns a password as people type it, without blanks and accents, where a URL has it in percent escapes or
 * a header in base64.
 */
function speltOut(secret: string): string | undefined {
  if (secret.includes('%') || beyondAscii.test(secret)) {
    const plain = secret.replace(percent, (it) => String.fromCharCode(Number.parseInt(it.slice(1), 16)));
    return Buffer.from(plain, 'latin1').toString().normalize('NFKD').replace(accents, '');
  }
  if (secret.length > basicMax || !basic.test(secret)) return undefined;
  const plain = Buffer.from(secret, 'base64').toString('latin1');
  return credentials.exec(plain)?.[1] ?? words.exec(plain)?.[1];
}

const unsigned = /^(eyJhbGciOiJub25l[\w-]{0,128})\.(eyJ[\w-]{0,4096})\.?$/;

/** Tells a token that says that nobody has signed it (RFC 7519, section 6): whoever trusts it trusts all. */
function isUnsigned(text: string): boolean {
  const [, head, payload] = (unsigned.exec(text) ?? []).map((it) =>
    Buffer.from(it, 'base64url').toString('latin1'),
  );
  return head !== undefined && /^\{"alg":"none"[,}]/.test(head) && payload?.endsWith('}') === true;
}

/** Answers whether documentation prints the value as an example. */
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
