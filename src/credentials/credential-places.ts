import type { Finding, InspectedCall, ReceivedCall } from '../core/call.ts';
import { headSpans } from '../inspect/parts/head-text.ts';
import { jsonValueSpan } from '../inspect/redact/locate.ts';
import { parsedObject } from '../util/parsed-json.ts';
import { type Claims, claimsOf } from './json-web-token.ts';

/*
 * Places that protocols give to credentials: Authorization (RFC 6750, 7617), fields for API keys, Cookie (RFC
 * 6265), and the query parameter of RFC 6750. Requests for tokens are places too (RFC 6749, 7009, 7521, 7523,
 * 7636, 7662, 8628, 8693, 9126).
 */

/** A credential in a place that a protocol gives it. */
export interface PlacedCredential {
  readonly part: Finding['part'];
  /** Its first byte within its part, and the byte behind its last. */
  readonly start: number;
  readonly end: number;
  readonly location: string;
  /** The texts by which it is recognised in any place; all of them have one home. */
  readonly texts: readonly string[];
  /** Milliseconds for which its home stands without a use. */
  readonly keptMs: number;
  /** Tells whether its field alone shows what it is: then it is bound even if no detector sees it. */
  readonly isBoundUnseen: boolean;
  readonly claims: Claims | undefined;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/**
 * Milliseconds for which homes stand. Those of keys and passwords stand longest, then tokens, then cookies,
 * which servers exchange often.
 */
const kept = { key: 90 * dayMs, token: 30 * dayMs, cookie: 7 * dayMs, once: hourMs } as const;

const lengthMax = 16_384;
const cookiesMax = 64;
const fieldsMax = 64;
/** Bound on the bodies that are read: requests for tokens are short, and some other bodies are long. */
const tokenRequestBytesMax = 64 * 1024;
/**
 * The least number of characters of a credential that is bound unseen. A shorter text may be the same in two
 * places by chance, or because a person is lazy.
 */
const unseenLengthMin = 20;

/**
 * Matches a key that stands in the place of a user name. A service that takes such a key wants no password or
 * a fixed one; a person's password is longer.
 */
const userKey = /^(?=.*\d)[\w.~+/=-]{20,}$/;
const userPasswordMax = 16;

// Some servers take a tab for the space.
const authorization = /^(?:([A-Za-z][A-Za-z0-9-]{0,31})[ \t]+)?(\S+)$/;
export const basic = /^basic[ \t]+(\S+)$/i;
const whole = /^\S+$/;
const keyField =
  /^(?:[a-z0-9]{1,32}-){0,4}(?:api-?key|app-?key|auth-?key|access-?key|functions-key|subscription-key|token|jwt|api-secret|client-secret|session-id|dpop)$/;

/** Fields of requests for tokens, with the milliseconds for which the home of each stands. */
const tokenFields: Readonly<Record<string, number>> = {
  client_secret: kept.key,
  password: kept.key,
  refresh_token: kept.token,
  subject_token: kept.token,
  actor_token: kept.token,
  token: kept.token,
  client_assertion: kept.once,
  assertion: kept.once,
  code: kept.once,
  code_verifier: kept.once,
  device_code: kept.once,
};
/** Tells whether people choose the value of a field: some choose one for several places. */
const isChosen = (name: string): boolean => name === 'password';

/** Returns all credentials in place of a call that was read, those of the head first. */
export const placedCredentials = (call: InspectedCall): readonly PlacedCredential[] => [
  ...inHead(call),
  ...inBody(call, call.plainBody),
];

function inHead(call: InspectedCall): PlacedCredential[] {
  if (call.head.length === 0) return [];
  return headSpans(call).flatMap(({ source, name, start, text }) => {
    if (source === 'url') return inQuery(text, start);
    if (source !== 'header') return [];
    const value = text.slice(name.length + 2);
    const from = start + name.length + 2;
    if (value.length > lengthMax) return [];
    const field = name.toLowerCase();
    if (field === 'cookie') return inCookie(value, from);
    const texts =
      field === 'authorization' || field.endsWith('-authorization')
        ? textsOfAuthorization(value)
        : keyField.test(field) && whole.test(value)
          ? [value]
          : [];
    if (texts.length === 0) return [];
    const keptMs = field === 'dpop' ? kept.once : field.endsWith('authorization') ? kept.token : kept.key;
    const isBoundUnseen = isBasicKey(field, value);
    const place = { part: 'head', location: `header:${field}`, texts, keptMs, isBoundUnseen } as const;
    return [toPlaced(place, from, value.length)];
  });
}

/**
 * Tells whether the head has Basic credentials that are a key, instead of a pair of name and password: no
 * detector sees such a key.
 */
export function hasBasicKey({ headers }: Pick<ReceivedCall, 'headers'>): boolean {
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (isBasicKey(headers[at]?.toLowerCase() ?? '', headers[at + 1] ?? '')) return true;
  return false;
}

function isBasicKey(field: string, value: string): boolean {
  if (!field.endsWith('authorization') || value.length > lengthMax) return false;
  const token = basic.exec(value)?.[1];
  if (token === undefined || token.length < unseenLengthMin) return false;
  const pair = Buffer.from(token, 'base64').toString('utf8');
  const [user = '', ...rest] = pair.split(':');
  // One in ten random keys has a colon in its decoded bytes as well.
  return rest.length === 0 || notText.test(pair) ? userKey.test(token) : isUserKey(user, rest.join(':'));
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them stands in a name or a password.
const notText = /[\0-\x1f\x7f\ufffd]/;

const isUserKey = (user: string, password: string): boolean =>
  password.length < userPasswordMax && userKey.test(user);

function textsOfAuthorization(value: string): readonly string[] {
  const [, scheme = '', token] = authorization.exec(value) ?? [];
  if (token === undefined) return [];
  if (scheme.toLowerCase() !== 'basic') return [token];
  const pair = Buffer.from(token, 'base64');
  const [user = '', ...rest] = pair.toString('utf8').split(':');
  const password = rest.join(':');
  // Clients of OAuth encode the password as a form does (RFC 6749, 2.3.1).
  const texts = [password, fromForm(password) ?? password].filter((it) => it.length >= unseenLengthMin);
  if (isUserKey(user, password)) texts.push(user);
  return [...new Set([pair.toString('base64'), token, ...texts])];
}

function inCookie(value: string, from: number): PlacedCredential[] {
  const found: PlacedCredential[] = [];
  let start = from;
  for (const pair of value.split(';', cookiesMax)) {
    const valueAt = pair.indexOf('=') + 1;
    const text = pair.slice(valueAt).trim();
    // The name of a cookie is no place for a credential.
    if (text !== '')
      found.push(
        toPlaced(
          { part: 'head', location: 'header:cookie', texts: [text], keptMs: kept.cookie },
          start + valueAt,
          pair.length - valueAt,
        ),
      );
    start += pair.length + 1;
  }
  return found;
}

/** Returns the credential in the query parameter of RFC 6750, 2.3. */
function inQuery(href: string, from: number): PlacedCredential[] {
  const found = /[?&]access_token=([^&]{1,16384})/.exec(href);
  const text = found?.[1] === undefined ? undefined : fromForm(found[1]);
  if (!found || text === undefined) return [];
  const start = from + found.index + '?access_token='.length;
  const place = {
    part: 'head',
    location: 'query:access_token',
    texts: [text],
    keptMs: kept.token,
  } as const;
  return [toPlaced(place, start, found[1]?.length ?? 0)];
}

/**
 * Returns the credentials in a body that is a request for tokens. The body may be another one than the call's
 * own.
 */
export function inBody(
  {
    method,
    contentType,
    target,
    message,
  }: Pick<ReceivedCall, 'method' | 'contentType' | 'target' | 'message'>,
  bytes: Buffer,
): PlacedCredential[] {
  if (message || method !== 'POST' || bytes.length === 0 || bytes.length > tokenRequestBytesMax) return [];
  const fields = fieldsOf(contentType, bytes);
  if (!fields || !isTokenRequest(fields, target.href)) return [];
  return fields.flatMap(({ name, text, start, end }) => {
    const keptMs = tokenFields[name];
    if (keptMs === undefined || text.length === 0 || text.length > lengthMax) return [];
    const isBoundUnseen = !isChosen(name) && text.length >= unseenLengthMin;
    const place = { part: 'body', location: `body:$.${name}`, texts: [text], keptMs, isBoundUnseen } as const;
    return [toPlaced(place, start, end - start)];
  });
}

interface Field {
  readonly name: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the fields of a body that mentions what a request for tokens has; else undefined. Most bodies do
 * not, and are not taken apart.
 */
function fieldsOf(contentType: string, bytes: Buffer): readonly Field[] | undefined {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  const isForm = type === 'application/x-www-form-urlencoded';
  if (!isForm && type !== 'application/json') return undefined;
  const mentions = (text: string): boolean => bytes.includes(text, 0, 'latin1');
  if (!(mentions(partOfHints) && hints.some(mentions)) && !(isForm && mentions('token='))) return undefined;
  return isForm ? fieldsOfForm(bytes.toString('latin1')) : fieldsOfJson(bytes);
}

/**
 * Returns the fields of a form; undefined where one stands there twice (RFC 6749, 3.2): nobody knows which
 * one counts.
 */
function fieldsOfForm(body: string): readonly Field[] | undefined {
  const pairs = body.split('&', fieldsMax + 1);
  if (pairs.length > fieldsMax) return undefined;
  const fields: Field[] = [];
  let start = 0;
  for (const pair of pairs) {
    const sign = pair.indexOf('=');
    const name = fromForm(pair.slice(0, Math.max(0, sign)));
    const text = fromForm(pair.slice(sign + 1));
    if (name !== undefined && text !== undefined)
      fields.push({ name, text, start: start + sign + 1, end: start + pair.length });
    start += pair.length + 1;
  }
  return new Set(fields.map((it) => it.name)).size === fields.length ? fields : undefined;
}

function fieldsOfJson(bytes: Buffer): readonly Field[] | undefined {
  const parsed = parsedObject(bytes.toString('utf8'));
  if (!parsed) return undefined;
  const names = [...Object.keys(tokenFields), ...hints, 'client_id'];
  return names.flatMap((name) => {
    const text = Object.hasOwn(parsed, name) ? parsed[name] : undefined;
    const span = typeof text === 'string' ? jsonValueSpan(bytes, name) : undefined;
    return span && typeof text === 'string' ? [{ name, text, start: span.start, end: span.end }] : [];
  });
}

/**
 * Fields by which a request for a token, for its revocation or introspection, or a pushed request is told.
 */
const hints = ['grant_type', 'token_type_hint', 'response_type'] as const;
/** A text that all of these names contain, so one look is enough for most bodies. */
const partOfHints = '_type';
const grantType = /^(?:[a-z_]{4,40}|urn:[\w:.-]{4,200}|https?:\/\/\S{4,200})$/;
const revokes = /(?:revo(?:ke|cation)|introspect(?:ion)?)\/?(?:\?|$)/i;

function isTokenRequest(fields: readonly Field[], href: string): boolean {
  const textOf = (name: string): string | undefined => fields.find((it) => it.name === name)?.text;
  if (grantType.test(textOf('grant_type') ?? '')) return true;
  if (textOf('token') !== undefined) return textOf('token_type_hint') !== undefined || revokes.test(href);
  return textOf('response_type') !== undefined && textOf('client_id') !== undefined;
}

type Place = Pick<PlacedCredential, 'part' | 'location' | 'texts' | 'keptMs'> & {
  readonly isBoundUnseen?: boolean;
};

function toPlaced(place: Place, start: number, length: number): PlacedCredential {
  const claims = place.texts.map(claimsOf).find((it) => it !== undefined);
  return { isBoundUnseen: false, ...place, start, end: start + length, claims };
}

function fromForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
