import { METHODS } from 'node:http';
import type { Call } from '../../core/call.ts';
import { separatorText } from '../decode/separator.ts';

/** Fields of the protocol that carry nothing of the agent's, or repeat the URL. */
const unread = new Set(['host', 'content-length', 'connection', 'transfer-encoding']);
const usualMethods = new Set(METHODS);
/** What clients send in Accept-Encoding (RFC 9110, 12.5.3). Anything else in it is read like any other field. */
const codings =
  /^(?:(?:gzip|x-gzip|deflate|br|zstd|compress|identity|\*)(?: ?; ?q=[01](?:\.\d{1,3})?)?(?:, ?|$))+$/i;

/** What is to be done with a field, by its name as clients write it: they write few names, each in few ways. */
type Reading = 'read' | 'unread' | 'unless-codings';
const readings = new Map<string, Reading>();
export const readingsMax = 1024;
const keptNameLengthMax = 64;

function readingOf(name: string): Reading {
  const known = readings.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const reading = unread.has(lower) ? 'unread' : lower === 'accept-encoding' ? 'unless-codings' : 'read';
  if (readings.size >= readingsMax) readings.clear();
  // A copy: the name may be a slice of its whole head, which would be kept with it.
  if (name.length <= keptNameLengthMax) readings.set(Buffer.from(name, 'latin1').toString('latin1'), reading);
  return reading;
}

function isRead(name: string, value: string): boolean {
  const reading = readingOf(name);
  if (reading === 'read') return true;
  return reading === 'unless-codings' && (value.length > 256 || !codings.test(value));
}

/** What of a call its head is made of. */
export type HeadFields = Pick<Call, 'method' | 'target' | 'headers'>;

type Source = 'url' | 'fragment' | 'userinfo' | 'method' | 'header';

/** Calls `take` for every field that is read, in the order in which they stand in the text; `name` is that of a header. */
function forEachField(
  { method, target, headers }: HeadFields,
  take: (source: Source, text: string, name?: string) => void,
): void {
  take('url', target.href);
  if (target.fragment !== '') take('fragment', target.fragment);
  // As a URL, for that is how credentials in one are known.
  if (target.userInfo !== '') take('userinfo', `${target.scheme}://${target.userInfo}@${target.host}/`);
  if (!usualMethods.has(method)) take('method', method);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (isRead(name, value)) take('header', `${name}: ${value}`, name);
  }
}

/**
 * URL and headers as one text to read, one field behind the other: a finding can lie in a host label, a path, a query parameter,
 * a fragment, a header's name or its value. One character is one byte.
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
  /** Of a header, as it was written; else empty. */
  readonly name: string;
  /** Where it begins in that text. */
  readonly start: number;
  readonly text: string;
}

/** The fields of that text, in their order. */
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
 * Names the place of an offset in that text: `host`, `path`, `query:name`, `fragment`, `userinfo`, `method`, `header:name`. A name that holds a
 * finding itself (one of `hidden`) is not quoted.
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
