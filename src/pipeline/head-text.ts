import type { Target } from '../target.ts';

/** Where one field of the head begins in its text, and what it is called in a finding's `location`. */
export interface HeadField {
  readonly start: number;
  readonly location: string;
}

export interface HeadText {
  readonly bytes: Buffer;
  readonly fields: readonly HeadField[];
}

/** Fields of the protocol that carry nothing of the agent's, or repeat the URL. */
const unread = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding']);

/**
 * URL and headers as one text to read, one field a line: a finding can lie in a host label, a path, a query parameter, a
 * fragment, a header's name or its value. Lines keep a pattern from running from one field into the next.
 */
export function headText(target: Target, headers: readonly string[]): HeadText {
  const fields: HeadField[] = [];
  let text = '';
  const add = (location: string, line: string): void => {
    fields.push({ start: text.length, location });
    text += `${line}\n`;
  };
  add('url', target.href);
  if (target.fragment) add('fragment', target.fragment);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    if (unread.has(name) || unread.has(name.toLowerCase())) continue;
    add(`header:${name.toLowerCase().slice(0, 128)}`, `${name}: ${headers[i + 1]}`);
  }
  return { bytes: Buffer.from(text, 'latin1'), fields };
}

/** Names the place of an offset: `host`, `path`, `query:name`, `fragment`, `header:name`. */
export function headLocator({ bytes, fields }: HeadText): (offset: number) => string {
  return (offset) => {
    const field = fields.findLast((it) => it.start <= offset);
    return field?.location === 'url' ? urlPlace(bytes, offset) : (field?.location ?? 'head');
  };
}

function urlPlace(bytes: Buffer, offset: number): string {
  const href = bytes.toString('latin1', 0, bytes.indexOf(0x0a));
  const path = href.indexOf('/', href.indexOf('://') + 3);
  const query = href.indexOf('?');
  if (path < 0 || offset < path) return 'host';
  if (query < 0 || offset <= query) return 'path';
  const from = Math.max(query, href.lastIndexOf('&', offset)) + 1;
  const name = /^[^=&]{0,64}/.exec(href.slice(from))?.[0] ?? '';
  return `query:${name}`;
}
