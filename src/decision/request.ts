import type { Request } from '../catalogue/catalogue.ts';
import type { BodyValue, ReceivedCall } from '../core/call.ts';
import { kept } from '../util/kept.ts';
import { bodyValue, mayHideNames, plainBody } from './facts/body.ts';
import { parseCallBody, structuredBytesMax } from './facts/body-structure.ts';

const structureOf = (contentType: string, body: string): BodyValue =>
  parseCallBody(contentType, Buffer.from(body));

/** Returns the catalogue's view of a call. `maxDecodedBytes` bounds what is decoded of its body on demand. */
export const toRequest = (call: ReceivedCall, maxDecodedBytes: number): Request => ({
  method: call.method,
  target: call.target,
  headers: call.headers,
  contentType: call.contentType,
  bodyText: () => plainBody(call, maxDecodedBytes).toString('utf8', 0, structuredBytesMax),
  mentions: (text) => mentions(call, text, maxDecodedBytes),
  isInOtherCharset: () => mayHideNames(call, maxDecodedBytes),
  bodyValue: () => bodyValue(call, maxDecodedBytes),
  structureOf,
});

/** Tells whether the body has a text. It goes through the body for each text once, whoever asks. */
function mentions(call: ReceivedCall, text: string, maxDecodedBytes: number): boolean {
  const { readings } = call;
  readings.mentioned ??= new Map();
  const { mentioned } = readings;
  const body = plainBody(call, maxDecodedBytes);
  if (text.startsWith(escapeStart)) {
    if (!mentioned.has(escapeStart)) noteEscapes(body, mentioned);
    if (mentioned.get(escapeStart) === false) return false;
  }
  return kept(mentioned, text, () => holds(body, text));
}

/**
 * The length of texts that Node searches for by their first character. Where that one is rare, it is ten
 * times as fast as with longer texts.
 */
const quicklyFound = 5;
/**
 * The size up to which a body is searched for such a short text. If it consists of the first character alone,
 * that takes a millisecond.
 */
const quickBytesMax = 128 * 1024;

/**
 * Tells whether the body has a text. Node searches latin1 directly, while encoding the text first costs as
 * much as searching a short body.
 */
function holds(body: Buffer, text: string): boolean {
  if (body.length > quickBytesMax) return body.includes(text, 0, 'latin1');
  const at = body.indexOf(text.slice(0, quicklyFound), 0, 'latin1');
  return at >= 0 && (text.length <= quicklyFound || body.includes(text, at, 'latin1'));
}

const escapeStart = '\\u00';
const hexDigits = '0123456789abcdef';
/**
 * The most escapes that are counted in one pass. With more of them, each digit is searched for by itself, and
 * soon found.
 */
const escapesMax = 10_000;

/**
 * The text by which escapes are searched for. Node looks for its first character, and zeros are rarer than
 * backslashes.
 */
const zeros = '00';
const zerosMax = 1_000;
const backslash = 0x5c;
const letterU = 0x75;

/**
 * Notes which escapes the body has, by their first digit. In a large body one pass replaces a pass for each.
 */
function noteEscapes(body: Buffer, mentioned: Map<string, boolean>): void {
  const digits = new Set<string>();
  const next = escapesIn(body);
  let at = next(0);
  mentioned.set(escapeStart, at >= 0);
  if (at < 0) return;
  for (let count = 0; at >= 0; count++) {
    if (count === escapesMax) return;
    const digitAt = at + escapeStart.length;
    digits.add(String.fromCharCode(body[digitAt] ?? 0));
    at = next(digitAt);
  }
  for (const digit of hexDigits) mentioned.set(`${escapeStart}${digit}`, digits.has(digit));
}

/** Returns a function that finds the next escape from a place on, or -1. */
function escapesIn(body: Buffer): (from: number) => number {
  let others = 0;
  return (from) => {
    for (let at = from; others < zerosMax; others++) {
      const found = body.indexOf(zeros, at, 'latin1');
      if (found < 0) return -1;
      if (body[found - 1] === letterU && body[found - 2] === backslash) return found - 2;
      at = found + 1;
    }
    return body.indexOf(escapeStart, from, 'latin1');
  };
}
