import type { InspectedCall, NamedCall } from '../../core/call.ts';
import { ownName, type SafeName } from '../../core/safe-name.ts';
import { toAuthority } from '../../core/target.ts';
import { separatorText } from '../../inspect/decode/separator.ts';
import { headSpans } from '../../inspect/parts/head-text.ts';
import { marker } from '../../inspect/redact/cuts.ts';
import { redact } from '../../inspect/redact/redact.ts';
import { METHODS } from '../../util/plain-http.ts';

/** The limits of a kept URL and of a kept body. */
export const urlLengthMax = 2048;
export const previewBytesMax = 2048;

/**
 * Returns the call's URL with its fragment, without what a detector found in it. INTERNAL findings stay,
 * because whoever approves a call to an internal host must see which host that is. For a call that nobody has
 * read it returns only the origin, because nobody knows what the rest holds.
 */
export function redactedUrl(call: NamedCall): SafeName {
  const { href, fragment, scheme, host, port } = call.received.target;
  if (call.head.length === 0) return call.safeName(`${scheme}://${toAuthority(scheme, host, port)}/`);
  const url = redactedText(call, 0, href);
  if (fragment === '') return cutUrl(url);
  return cutUrl(`${url}#${redactedText(call, href.length + separatorText.length, fragment)}`);
}

/** Returns a URL within the limit. One that is cut ends in `…`. */
const cutUrl = (url: string): SafeName =>
  ownName(url.length > urlLengthMax ? `${url.slice(0, urlLengthMax - 1)}…` : url);

type Unnamed = Pick<NamedCall, 'received' | 'head' | 'findings'>;

const usualMethods = new Set(METHODS);

/**
 * Returns the call's method. An unusual method is shown only where it was read and nothing was found in it.
 */
export function redactedMethod({ received: { method }, head, findings }: Unnamed): SafeName {
  if (usualMethods.has(method)) return ownName(method);
  const found = findings.find((it) => it.part === 'head' && it.location === 'method');
  return ownName(head.length > 0 && !found ? method : marker(found?.kind ?? 'unread'));
}

/**
 * Returns the first header fields of these names that were read, as `name: value`, without their findings.
 */
export const redactedFields = (
  call: InspectedCall,
  isMeant: (name: string) => boolean,
  most: number,
): readonly { readonly name: string; readonly text: string }[] =>
  // A head that nobody has read may hold secrets, so nothing of it is shown.
  (call.head.length === 0 ? [] : headSpans(call))
    .filter((it) => it.source === 'header' && isMeant(it.name))
    .slice(0, most)
    .map(({ name, start, text }) => ({
      name,
      text: redactedText(call, start, text).replace(unseen, toEscape),
    }));

/** Returns a text of the head, which begins there at `from`, without its findings. */
function redactedText({ head, findings }: Unnamed, from: number, text: string): string {
  const end = from + text.length;
  const found = findings.filter(
    (it) => it.part === 'head' && it.class !== 'INTERNAL' && it.start < end && it.end > from,
  );
  if (found.length === 0) return text;
  const cuts = found.map((it) => ({
    start: Math.max(it.start, from) - from,
    end: Math.min(it.end, end) - from,
    label: it.kind,
  }));
  return redact(head.subarray(from, end), cuts).bytes.toString('latin1');
}

/**
 * Returns the beginning of the body without its findings, for people who decide about all of it. It ends with
 * the length of the rest. Invisible and direction-turning characters stand as `\u{…}`.
 */
export function redactedPreview(call: InspectedCall): SafeName {
  const cuts = call.findings.filter((it) => it.part === 'body').map(toCut);
  const { bytes } = redact(call.plainBody, cuts);
  const shownBytes = bytes.length <= previewBytesMax ? bytes.length : endOfCharacter(bytes, previewBytesMax);
  const shown = bytes.toString('utf8', 0, shownBytes).replace(unseen, toEscape);
  return ownName(
    shownBytes === bytes.length ? shown : `${shown}… [and ${bytes.length - shownBytes} bytes more]`,
  );
}

/**
 * Matches control and format characters other than tabs and line breaks, line separators, and empty glyphs.
 */
const unseen =
  /(?![\t\n\r])(?:[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]|[\ufe00-\ufe0f])/gu;

const toEscape = (it: string): string => `\\u{${it.codePointAt(0)?.toString(16)}}`;

/**
 * Returns the greatest place up to `end` that is not within a character of UTF-8. Such a character has at
 * most four bytes.
 */
function endOfCharacter(bytes: Buffer, end: number): number {
  let at = end;
  while (at > end - 4 && isContinuation(bytes[at])) at -= 1;
  return isContinuation(bytes[at]) ? end : at;
}

const isContinuation = (byte = 0): boolean => (byte & 0xc0) === 0x80;

const toCut = (it: {
  start: number;
  end: number;
  kind: string;
}): { start: number; end: number; label: string } => ({
  start: it.start,
  end: it.end,
  label: it.kind,
});
