import type { ReceivedCall } from '../../core/call.ts';
import { METHODS } from '../../util/plain-http.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { separatorText } from '../decode/separator.ts';

/** Names of fields of the protocol that hold nothing of the agent's or repeat the URL. */
const unread = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);
const usualMethods = new Set(METHODS);
/**
 * Matches the values that clients send in Accept-Encoding (RFC 9110, 12.5.3). Other values are read as
 * fields.
 */
const codings =
  /^(?:(?:gzip|x-gzip|deflate|br|zstd|compress|identity|\*)(?: ?; ?q=[01](?:\.\d{1,3})?)?(?:, ?|$))+$/i;

/** How to read a field of this name. */
type Reading = 'read' | 'unread' | 'unless-codings';
export const readingsMax = 1024;
const readings = new RecentMap<string, Reading>(readingsMax);
const keptNameLengthMax = 64;

function readingOf(name: string): Reading {
  const known = readings.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const reading = unread.has(lower) ? 'unread' : lower === 'accept-encoding' ? 'unless-codings' : 'read';
  // The name is copied, because a slice would keep its whole head alive.
  if (name.length <= keptNameLengthMax) readings.set(Buffer.from(name, 'latin1').toString('latin1'), reading);
  return reading;
}

function isRead(name: string, value: string): boolean {
  const reading = readingOf(name);
  if (reading === 'read') return true;
  return reading === 'unless-codings' && (value.length > 256 || !codings.test(value));
}

/** The fields of a call that make its head. */
export type HeadFields = Pick<ReceivedCall, 'method' | 'target' | 'headers'>;

type Source = 'url' | 'fragment' | 'userinfo' | 'method' | 'header';

/**
 * Calls `take` for every field that is read, in the order of the text. `name` is the name of a header as it
 * was written; undefined for other sources.
 */
function forEachField(
  { method, target, headers }: HeadFields,
  take: (source: Source, text: string, name?: string) => void,
): void {
  take('url', target.href);
  if (target.fragment !== '') take('fragment', target.fragment);
  // It is written as a URL, because credentials in URLs are recognised as such.
  if (target.userInfo !== '') take('userinfo', `${target.scheme}://${target.userInfo}@${target.host}/`);
  if (!usualMethods.has(method)) take('method', method);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (isRead(name, value)) take('header', `${name}: ${value}`, name);
  }
}

/**
 * Returns URL and headers as one text, one field behind the other. A finding can lie in a host label, path,
 * query parameter, fragment, header name or header value. One character is one byte.
 */
export function headText(call: HeadFields): string {
  let text = '';
  forEachField(call, (_, field) => {
    text += field + separatorText;
  });
  return text;
}

export interface HeadSpan {
  readonly source: Source;
  /** The name of a header as it was written; empty for other sources. */
  readonly name: string;
  /** The place in the text where the field begins. */
  readonly start: number;
  readonly text: string;
}

/** Returns the fields of the text that `headText` makes, in order. */
export function headSpans(call: HeadFields): readonly HeadSpan[] {
  const spans: HeadSpan[] = [];
  let start = 0;
  forEachField(call, (source, text, name = '') => {
    spans.push({ source, name, start, text });
    start += text.length + separatorText.length;
  });
  return spans;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Creates a locator for offsets in the text that `headText` makes. It returns `host`, `path`, `query:name`,
 * `fragment`, `userinfo`, `method` or `header:name`. A name that overlaps a `hidden` span is not quoted.
 */
export function headLocator(call: HeadFields, hidden: readonly Span[]): (offset: number) => string {
  const fields: { start: number; location: string }[] = [];
  let next = 0;
  const isHidden = (start: number, end: number): boolean =>
    hidden.some((it) => it.start < end && start < it.end);
  forEachField(call, (source, text, name = '') => {
    const shown = isHidden(next, next + name.length) ? '[REDACTED]' : name.toLowerCase().slice(0, 128);
    fields.push({ start: next, location: source === 'header' ? `header:${shown}` : source });
    next += text.length + separatorText.length;
  });
  return (offset) => {
    const location = fields.findLast((it) => it.start <= offset)?.location ?? 'url';
    return location === 'url' ? urlPlace(call.target.href, offset, isHidden) : location;
  };
}

function urlPlace(href: string, offset: number, isHidden: (start: number, end: number) => boolean): string {
  const path = href.indexOf('/', href.indexOf('://') + 3);
  const query = href.indexOf('?');
  if (path < 0 || offset < path) return 'host';
  if (query < 0 || offset <= query) return 'path';
  const from = Math.max(query, href.lastIndexOf('&', offset)) + 1;
  const name = /^[^=&]{0,64}/.exec(href.slice(from))?.[0] ?? '';
  return `query:${isHidden(from, from + name.length) ? '[REDACTED]' : name}`;
}
