import { separatorText } from '../decode/separator.ts';
import type { Detector } from '../patterns/detector.ts';
import { isVendorHost } from '../patterns/vendor-hosts.ts';
import type { CallPart } from '../read-part.ts';

/*
 * Turns the header fields or trailers of an answer into one text to read. Fields that carry only a time, a
 * length or a request id are left out, so that similar heads of one upstream are read once.
 */

/** The place of a field in the text; `at` is the index of its name in the flat list. */
export interface FieldPlace {
  readonly at: number;
  /** The name in lower case. */
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

export interface FieldsText {
  /** The text, with one character for each byte. */
  readonly text: string;
  readonly places: readonly FieldPlace[];
}

const time = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const count = /^\d{1,10}$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Fields that are not read where their values have the given form. */
const plainForms = new Map<string, RegExp>([
  ...['date', 'expires', 'last-modified'].map((it) => [it, time] as const),
  ...['content-length', 'age', 'retry-after', 'grpc-status'].map((it) => [it, count] as const),
  ...['ratelimit-', 'x-ratelimit-'].flatMap((it) =>
    ['limit', 'remaining', 'used', 'reset'].map((of) => [`${it}${of}`, count] as const),
  ),
  ...['request-id', 'x-request-id', 'x-correlation-id'].map((it) => [it, uuid] as const),
]);

/** Remembers single fields in which one reader has lately found nothing. */
export class CleanFields {
  readonly #lines = new Set<string>();

  has(line: string): boolean {
    return this.#lines.has(line);
  }

  add({ text, places }: FieldsText): void {
    if (this.#lines.size + places.length > linesMax) this.#lines.clear();
    for (const { start, end } of places) {
      // The line is copied, because a slice would keep its whole head alive.
      if (end - start <= lineLengthMax)
        this.#lines.add(Buffer.from(text.slice(start, end), 'latin1').toString('latin1'));
    }
  }
}

const linesMax = 1_024;
const lineLengthMax = 256;

/**
 * Makes the text of a flat list of fields. Fields that begin with `ownPrefix` (lower case) are the gateway's
 * own; they and clean fields are left out.
 */
export function fieldsText(
  fields: readonly string[],
  ownPrefix: string,
  clean?: Pick<CleanFields, 'has'>,
): FieldsText {
  const places: FieldPlace[] = [];
  let text = '';
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const written = fields[at] as string;
    const value = fields[at + 1] as string;
    const name = written.toLowerCase();
    if (name.startsWith(ownPrefix) || plainForms.get(name)?.test(value)) continue;
    const line = `${written}: ${value}`;
    if (clean?.has(line)) continue;
    const start = text.length;
    text += line;
    places.push({ at, name, start, valueStart: start + written.length + 2, end: text.length });
    text += separatorText;
  }
  return { text, places };
}

export const fieldAt = ({ places }: FieldsText, offset: number): FieldPlace | undefined =>
  places.findLast((it) => it.start <= offset);

/** Makes a part of the fields; `host` is the host that answered. */
export function fieldsPart(fields: FieldsText, host: string): CallPart {
  const bytes = Buffer.from(fields.text, 'latin1');
  return {
    name: 'head',
    bytes,
    format: 'head',
    host,
    locator(hidden) {
      return (offset) => {
        const field = fieldAt(fields, offset);
        if (!field) return 'header';
        const isHidden = hidden.some((it) => it.start < field.valueStart && field.start < it.end);
        return `header:${isHidden ? '[REDACTED]' : field.name.slice(0, 128)}`;
      };
    },
    isAtHome: (detector, start) => isOrdinary(fields, detector, start, host),
  };
}

/** Matches fields with values that a host hands out for itself: sessions, challenges, results of a login. */
const ownFields =
  /^(?:set-cookie2?|authorization|(?:www|proxy)-authenticate|(?:proxy-)?authentication-info|(?:x-)?(?:auth|access|refresh|id|subject|session|security|csrf|xsrf)-?(?:token|id))$/;
/** Matches fields that hold a URL. */
const leadingFields = /^(?:location|content-location|refresh|link)$/;
/** Matches ids of detectors without a vendor whose secrets are no sessions. */
const noSession =
  /password|passphrase|credentials|seed|wallet|keystore|key-pair|webhook|macaroon|(?:private|secret|signing|unseal|machine|master|recovery|server|postern|bip38)-key|-u(?:rl|ri)$/;
/** Matches the query parameters that sign a URL for one use and a short time. */
const signing = /^(?:x-(?:amz|goog)-[a-z-]{1,32}|sig|signature)$/i;
/** The number of characters before a secret in which its URL is looked for, since one field may hold many. */
const urlLengthMax = 2_048;
const hostIn = /https?:\/\/(?:[^/?#\s@]*@)?([^/:?#\s>;,"]+)/gi;

/**
 * Tells whether a secret in a field is no leak. A host may give out its session in the fields for it, and a
 * signature in a signed URL. Both work at that host alone. A vendor's credential is ordinary only if it
 * belongs to that host.
 */
function isOrdinary(
  fields: FieldsText,
  { id, class: dataClass, confidence, vendorHosts, homePlaces }: Detector,
  start: number,
  host: string,
): boolean {
  const field = fieldAt(fields, start);
  if (!field || dataClass !== 'SECRETS' || start < field.valueStart) return false;
  const isLeading = leadingFields.test(field.name);
  if (!isLeading && !ownFields.test(field.name)) return false;
  if (vendorHosts.length === 0) return confidence === 'medium' || !noSession.test(id);
  if (isVendorHost(host, vendorHosts)) return true;
  if (!isLeading) return false;
  const before = fields.text.slice(Math.max(field.valueStart, start - urlLengthMax), start);
  const [, parameter] = /[?&;]([^=&?;\s]{1,64})=[^=&?;\s]{0,512}$/.exec(before) ?? [];
  const isSignature =
    parameter !== undefined &&
    signing.test(parameter) &&
    homePlaces.includes(`query:${parameter.toLowerCase()}`);
  const [, leadsTo = ''] = [...before.matchAll(hostIn)].at(-1) ?? [];
  return isSignature || isVendorHost(leadsTo.toLowerCase(), vendorHosts);
}
