import type { Target } from '../target.ts';

/** Fields of the protocol that carry nothing of the agent's, or repeat the URL. */
const unread = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding']);

const isRead = (name: string): boolean => !unread.has(name) && !unread.has(name.toLowerCase());

/**
 * URL and headers as one text to read, one field a line: a finding can lie in a host label, a path, a query parameter, a
 * fragment, a header's name or its value. Lines keep a pattern from running from one field into the next. One character is
 * one byte.
 */
export function headText(target: Target, headers: readonly string[]): string {
  let text = `${target.href}\n`;
  if (target.fragment !== '') text += `${target.fragment}\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    if (isRead(name)) text += `${name}: ${headers[i + 1]}\n`;
  }
  return text;
}

/** Names the place of an offset in that text: `host`, `path`, `query:name`, `fragment`, `header:name`. */
export function headLocator(target: Target, headers: readonly string[]): (offset: number) => string {
  const lines = [{ start: 0, location: 'url' }];
  let next = target.href.length + 1;
  const add = (location: string, length: number): void => {
    lines.push({ start: next, location });
    next += length + 1;
  };
  if (target.fragment !== '') add('fragment', target.fragment.length);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    if (isRead(name)) add(`header:${name.toLowerCase().slice(0, 128)}`, name.length + 2 + value.length);
  }
  return (offset) => {
    const location = lines.findLast((it) => it.start <= offset)?.location ?? 'url';
    return location === 'url' ? urlPlace(target.href, offset) : location;
  };
}

function urlPlace(href: string, offset: number): string {
  const path = href.indexOf('/', href.indexOf('://') + 3);
  const query = href.indexOf('?');
  if (path < 0 || offset < path) return 'host';
  if (query < 0 || offset <= query) return 'path';
  const from = Math.max(query, href.lastIndexOf('&', offset)) + 1;
  const name = /^[^=&]{0,64}/.exec(href.slice(from))?.[0] ?? '';
  return `query:${name}`;
}
