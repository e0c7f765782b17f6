/*
 * The kinds of bodies that agents send. Each holds a text in one place of some structure, and tells whether another body is still of its
 * kind with the same structure.
 */

export interface Carrier {
  readonly name: string;
  readonly contentType: string;
  wrap(text: string): string;
  /** Whether `redacted` has the structure of `body`. */
  isKept(redacted: string, body: string): boolean;
}

const boundary = '----WebKitFormBoundaryK7hxLcDtXKhyIXVH';

const part = (head: string, content: string): string => `--${boundary}\r\n${head}\r\n\r\n${content}\r\n`;

const field = (name: string, value: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, value);

const toXml = (text: string): string => text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Objects, arrays and keys without the values in them; keys that were cut are all one. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).map(shapeOf);
}

function isSameJson(redacted: string, body: string): boolean {
  const value = parse(redacted);
  return value !== undefined && JSON.stringify(shapeOf(value)) === JSON.stringify(shapeOf(parse(body)));
}

const isSameLines = (redacted: string, body: string): boolean => {
  const [lines, wanted] = [redacted.split('\n'), body.split('\n')];
  return (
    lines.length === wanted.length &&
    lines.every((line, at) => line === '' || isSameJson(line, wanted[at] ?? ''))
  );
};

/** The lines of a multipart body that are its structure. */
const delimitersOf = (body: string): string =>
  body
    .split('\r\n')
    .filter((line) => line.startsWith(`--${boundary}`) || /^Content-/.test(line))
    .join('\n');

const multipart = {
  contentType: `multipart/form-data; boundary=${boundary}`,
  isKept: (redacted: string, body: string) => delimitersOf(redacted) === delimitersOf(body),
};

export const carriers: readonly Carrier[] = [
  {
    name: 'text',
    contentType: 'text/plain',
    wrap: (text) => `Notes of today.\n\n${text}\n\nThat is all.\n`,
    isKept: () => true,
  },
  {
    name: 'nested JSON',
    contentType: 'application/json',
    wrap: (text) => JSON.stringify({ id: 7, items: [{ kind: 'note', text }, { n: [1, 2] }], done: false }),
    isKept: isSameJson,
  },
  {
    name: 'JSON in JSON',
    contentType: 'application/json',
    wrap: (text) => JSON.stringify({ id: 7, payload: JSON.stringify({ a: [text], b: 1 }) }),
    isKept: isSameJson,
  },
  {
    name: 'GraphQL variables',
    contentType: 'application/json',
    wrap: (body) =>
      JSON.stringify({ query: 'mutation($body: String!){ add(body: $body){ id } }', variables: { body } }),
    isKept: isSameJson,
  },
  {
    name: 'NDJSON',
    contentType: 'application/x-ndjson',
    wrap: (msg) => `${JSON.stringify({ level: 'info', n: 1 })}\n${JSON.stringify({ level: 'warn', msg })}\n`,
    isKept: isSameLines,
  },
  {
    name: 'a form',
    contentType: 'application/x-www-form-urlencoded',
    wrap: (text) => new URLSearchParams({ channel: 'C1', text, as: 'me' }).toString(),
    isKept: (redacted) => [...new URLSearchParams(redacted).keys()].join() === 'channel,text,as',
  },
  {
    ...multipart,
    name: 'a multipart field',
    wrap: (text) => `${field('note', text)}${field('n', '1')}--${boundary}--\r\n`,
  },
  {
    ...multipart,
    name: 'a multipart file',
    wrap: (text) => {
      const head =
        'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain';
      return `${part(head, `Begin\n${text}\nEnd`)}--${boundary}--\r\n`;
    },
  },
  {
    ...multipart,
    name: 'JSON in multipart',
    wrap: (text) =>
      `${part('Content-Type: application/json', JSON.stringify({ text, n: 1 }))}--${boundary}--\r\n`,
  },
  {
    name: 'XML',
    contentType: 'application/xml',
    wrap: (text) => `<?xml version="1.0"?><doc><item id="1"><note>${toXml(text)}</note></item></doc>`,
    isKept: (redacted) =>
      /^<\?xml version="1.0"\?><doc><item id="1"><note>[^<>]*<\/note><\/item><\/doc>$/.test(redacted),
  },
  {
    name: 'CSV',
    contentType: 'text/csv',
    wrap: (text) => `id,note,n\n1,"${text.replaceAll('"', '""')}",2\n`,
    isKept: () => true,
  },
];
