import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import * as z from 'zod';
import { parseUuid } from '../core/ids.ts';
import { normaliseHost } from '../core/target.ts';
import { gigabyte, kilobyte, megabyte, parseSize } from '../util/byte-size.ts';
import { parseSigningKey } from '../util/signing-key.ts';
import { durationField, type Milliseconds } from './section.ts';

/*
 * Schemas of single values. No message quotes the value, because only the author of the file knows which of
 * them is secret.
 */

/** Returns the schema of a text that `parse` understands. `parse` returns undefined for any other text. */
export function parsed<T>(parse: (text: string) => T | undefined, message: string, max = 2048) {
  return z
    .string()
    .max(max)
    .transform((text, context): T => {
      const value = parse(text);
      if (value !== undefined) return value;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    });
}

// Variables are texts, so a number or a switch may come as a text, too: `workers: ${env:WORKERS}`.
const numberText = /^-?\d{1,15}(?:\.\d{1,15})?$/;
const fromText = (value: unknown): unknown =>
  typeof value === 'string' && numberText.test(value) ? Number(value) : value;
const flagFromText = (value: unknown): unknown =>
  value === 'true' ? true : value === 'false' ? false : value;

export const integer = (min: number, max: number) => z.preprocess(fromText, z.int().min(min).max(max));
export const fraction = z.preprocess(fromText, z.number().min(0).max(1));
export const amount = z.preprocess(fromText, z.number().positive().max(Number.MAX_SAFE_INTEGER));
export const flag = z.preprocess(flagFromText, z.boolean());

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

const durationUnits: Readonly<Record<string, number>> = { ms: 1, s: second, m: minute, h: hour, d: day };

/** Returns the milliseconds of `250ms`, `30s`, `10m`, `1h` or `7d`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, digits, name] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (durationUnits[name ?? ''] ?? 1);
}

const durationText = (ms: number): string => {
  const [name, length] = Object.entries(durationUnits).findLast(([, it]) => ms >= it && ms % it === 0) ?? [
    'ms',
    1,
  ];
  return `${ms / length}${name}`;
};

/**
 * Returns the schema of a duration. The default bound of a day stays far below 2^31 ms, where Node's timers
 * fire at once.
 */
export function duration(minMs = 1, maxMs = day) {
  const bounds = `a duration of ${durationText(minMs)} to ${durationText(maxMs)}, as 250ms, 30s, 10m, 1h or 7d`;
  return durationField(
    z.string({ error: `must be ${bounds}` }).transform((text, context): Milliseconds => {
      const ms = parseDuration(text);
      if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms as Milliseconds;
      context.addIssue({ code: 'custom', message: `must be ${bounds}` });
      return z.NEVER;
    }),
  );
}

/** The schema of a moment in ISO 8601 with its zone. The value is in milliseconds since 1970. */
export const configInstant = durationField(
  z.string().transform((text, context): Milliseconds => {
    const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
      ? Date.parse(text)
      : Number.NaN;
    if (!Number.isNaN(ms)) return ms as Milliseconds;
    context.addIssue({ code: 'custom', message: 'must be a time such as 2030-01-31T12:00:00Z' });
    return z.NEVER;
  }),
);

export { gigabyte, kilobyte, megabyte, parseSize };

/** Returns the schema of a size, written in bytes or as a text with its unit. */
export function size(minBytes = 1, maxBytes = gigabyte) {
  const message = `must be a size of ${minBytes} to ${maxBytes} bytes, as 4096, 256KB or 1MB`;
  return z.union([z.number(), z.string()], { error: message }).transform((value, context): number => {
    const bytes = typeof value === 'number' ? value : parseSize(value);
    if (bytes !== undefined && Number.isInteger(bytes) && bytes >= minBytes && bytes <= maxBytes)
      return bytes;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Returns the schema of a text of one form. */
export const matching = (pattern: RegExp, message: string) => z.string().regex(pattern, { error: message });

export const identifier = matching(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"');
export const dottedName = matching(
  /^[A-Za-z0-9._-]{1,64}$/,
  'must be 1 to 64 letters, digits, ".", "_" or "-"',
);
export const configTitle = matching(
  /^\P{Cc}{1,128}$/u,
  'must be 1 to 128 characters without control characters',
);
export const line = matching(/^\P{Cc}{1,4096}$/u, 'must be 1 to 4096 characters without control characters');
export const path = matching(/^[^\0]{1,4096}$/, 'must be a path');
export const headerName = matching(
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/,
  'must be the name of a header (RFC 9110, 5.1)',
);
export const method = matching(/^[A-Z][A-Z-]{0,31}$/, 'must be an HTTP method in capitals');
export const urlPath = matching(/^\/[^\s\0]{0,2047}$/, 'must be a glob over the path, beginning with "/"');
export const variable = matching(
  /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  'must be the name of an environment variable',
);

/**
 * The schema of a secret that is sent in a header or query as it stands. It may have no line break (RFC 9110,
 * 5.5).
 */
export const secret = matching(
  /^[\t\x20-\x7e\x80-\xff]{1,65536}$/,
  'must be 1 to 65536 characters of one line of Latin-1',
);

/** The schema of a private key in PEM, which has more than one line. */
export const privateKey = z
  .string()
  .max(16_384)
  .refine((text) => parseSigningKey(text) !== undefined, {
    error:
      'must be a private key in PEM: RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519, without a passphrase',
  });

/** The schema of a secret that may be empty. An empty one is none. */
export const optionalSecret = z.union([z.literal(''), secret], {
  error: 'must be one line of Latin-1, or empty',
});

export const configUuid = parsed(parseUuid, 'must be a UUID', 64);

/**
 * Returns a range such as `10.0.0.0/8` or `2001:db8::/32`, in lower case; undefined for any other text. A
 * single address gets the longest prefix, so that it stands for itself alone.
 */
export function parseCidr(text: string): string | undefined {
  const [, address = '', length] = /^([0-9a-fA-F:.]{2,45})(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const wanted = length === undefined ? bits : Number(length);
  return bits < 0 || wanted > bits ? undefined : `${address.toLowerCase()}/${wanted}`;
}

const globLabels = /^[a-z0-9*?_-]+(?:\.[a-z0-9*?_-]+)*$/;

/**
 * Returns a host or a glob of hosts in the form of targets: lower case, punycode, no final dot. `*` crosses
 * dots. Returns undefined for any other text.
 */
export function parseHostGlob(text: string): string | undefined {
  if (text.length > 253) return undefined;
  if (!/[*?]/.test(text)) return normaliseHost(text);
  const ascii = /^[\x21-\x7e]+$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  const glob = ascii.replace(/\.$/, '');
  return globLabels.test(glob) ? glob : undefined;
}

/**
 * Returns a URL prefix in its normal form; undefined for any other text. That form has a `/` behind the host,
 * so `https://a.example` never reaches `https://a.example.org`.
 */
export function parseUrlPrefix(text: string): string | undefined {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  return url?.host && !url.username && !url.password && !url.hash ? url.href : undefined;
}

export const addressRange = parsed(parseCidr, 'must be an address range such as 10.0.0.0/8');
export const address = parsed(
  (text) => (isIP(text) ? text.toLowerCase() : undefined),
  'must be an IP address without brackets or port',
);
export const hostGlob = parsed(parseHostGlob, 'must be a host or a glob such as *.example.com');
export const hostOrCidr = parsed(
  (text) => parseCidr(text) ?? parseHostGlob(text),
  'must be a host, a glob of hosts or an address range',
);
/**
 * The schema of an entry of deny and allow lists. It is a range (with `/` and digits), a URL prefix (with
 * `://`), or else a host glob.
 */
export const destination = parsed(
  (text) => parseCidr(text) ?? parseUrlPrefix(text) ?? parseHostGlob(text),
  'must be a host glob, an address range or a URL prefix',
);

/**
 * Returns the schema of an absolute URL of these schemes, with a host and no fragment. User information is
 * refused unless `userInfo`.
 */
export function url(schemes: readonly string[], options: { userInfo?: boolean; query?: boolean } = {}) {
  const { userInfo = false, query = true } = options;
  return parsed(
    (text) => {
      const found = /[\s\0]/.test(text) ? null : URL.parse(text);
      if (!found?.host || found.hash || !schemes.includes(found.protocol.slice(0, -1))) return undefined;
      if ((!userInfo && (found.username || found.password)) || (!query && found.search)) return undefined;
      return text;
    },
    `must be a URL (${schemes.join(', ')}) without fragment${userInfo ? '' : ' and user information'}${query ? '' : ' and query'}`,
  );
}

/** The schema of a zone of the tz database, such as `Europe/Berlin`. */
export const timeZone = parsed((text) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}, 'must be a time zone such as UTC or Europe/Berlin');
