import type { BodyFormat } from './body-format.ts';
import type { Span } from './span-map.ts';

/*
 * Finds values in a text with the names before them. Text is searched, not parsed: JSON in a JSON string,
 * broken JSON and JSON in a log line have fields too. Every part of a pattern is bounded and can be read in
 * only one way, so the time is linear.
 */

/** A named value; the span excludes quotes. Items of a list have no name. */
export interface Field extends Span {
  readonly name: string;
}

/** The format of a text: that of a body, or `head` for URL and headers as one text. */
export type FieldFormat = BodyFormat | 'head';

type Syntax = (text: string) => Field[];

/** Creates a syntax from a pattern whose first group is the name and second the value. */
const pairsBy =
  (pattern: RegExp): Syntax =>
  (text) =>
    Array.from(text.matchAll(pattern), ({ 1: name = '', indices }) => {
      const [start, end] = indices?.[2] ?? [0, 0];
      return { name, start, end };
    });

/**
 * The form of strings in a JSON text, or in JSON that is a string of another text. Content between quotes is
 * read piece by piece.
 */
interface Quoting {
  readonly quote: string;
  readonly opening: RegExp;
  readonly piece: RegExp;
}

const quoted: Quoting = { quote: '"', opening: /(?<!\\)"/g, piece: /(?:[^"\\]|\\[\s\S]){0,4096}/y };
const nestedQuoted: Quoting = {
  quote: '\\"',
  opening: /(?<!\\)\\"/g,
  piece: /(?:[^"\\]|\\\\(?:[^"\\]|\\")){0,4096}/y,
};

/**
 * Yields the contents of strings. A string longer than a piece is skipped to its end, so that its closing
 * quote opens no other.
 */
function* stringsIn(text: string, { quote, opening, piece }: Quoting): Iterable<Span> {
  for (let at = 0; ; ) {
    opening.lastIndex = at;
    const open = opening.exec(text);
    if (!open) return;
    const start = open.index + quote.length;
    const end = pieceEnd(text, piece, start);
    at = end;
    for (let next = pieceEnd(text, piece, at); next > at; next = pieceEnd(text, piece, at)) at = next;
    if (!text.startsWith(quote, at)) continue;
    if (at === end) yield { start, end };
    at += quote.length;
  }
}

function pieceEnd(text: string, piece: RegExp, start: number): number {
  piece.lastIndex = start;
  piece.exec(text);
  return piece.lastIndex;
}

const beforeValue = /\s{0,8}:\s{0,8}/y;

const stringsBy =
  (quoting: Quoting): Syntax =>
  (text) => {
    const fields: Field[] = [];
    let name = '';
    let valueAt = -1;
    for (const { start, end } of stringsIn(text, quoting)) {
      const { length } = quoting.quote;
      beforeValue.lastIndex = end + length;
      if (beforeValue.test(text)) {
        name = text.slice(start, end);
        valueAt = beforeValue.lastIndex;
      } else if (end > start) fields.push({ name: valueAt === start - length ? name : '', start, end });
    }
    return fields;
  };

const nestedStrings = stringsBy(nestedQuoted);

const syntaxes = {
  members: stringsBy(quoted),
  nestedMembers: (text) => (text.includes('\\"') ? nestedStrings(text) : []),
  /** Finds the pairs of forms, queries and cookies. */
  pairs: pairsBy(/(?<=^|[?&;#\s])([^=&?#;:/\s]{1,64})=([^&#;\s]{1,4096})/dg),
  elements: pairsBy(/<([A-Za-z_][\w.:-]{0,63})(?:\s[^<>]{0,256})?>([^<]{1,4096})<\//dg),
  attributes: pairsBy(/(?<=\s)([A-Za-z_][\w.:-]{0,63})\s{0,8}=\s{0,8}["']([^"'<>]{1,4096})["']/dg),
  /** Finds parts whose content is one line (RFC 7578, 4.2). */
  parts: pairsBy(
    /name="([^"\r\n]{1,64})"[^\r\n]{0,256}\r\n(?:[^\r\n]{1,256}\r\n){0,4}\r\n([^\r\n]{1,4096})\r\n--/dg,
  ),
  fileNames: pairsBy(/ name="([^"\r\n]{1,64})"; filename="([^"\r\n]{1,1024})"/dg),
  /** Finds header fields, and lines of environment files and YAML. */
  lines: pairsBy(/(?<=^|\n)[ \t-]{0,16}([A-Za-z][\w.-]{0,63}) ?[:=](?!\/\/) ?([^\r\n]{1,4096})/dg),
  /** Finds cells of tables (RFC 4180), without names: they are not told from values. */
  cells: pairsBy(/(?<=^|[,;|\t\r\n])()([^,;|\t\r\n"]{1,1024})(?=[,;|\t\r\n]|$)/dg),
} satisfies Readonly<Record<string, Syntax>>;

const syntaxesOf: Readonly<Record<FieldFormat, readonly Syntax[]>> = {
  json: [syntaxes.members, syntaxes.nestedMembers],
  form: [syntaxes.pairs],
  xml: [syntaxes.elements, syntaxes.attributes],
  multipart: [syntaxes.parts, syntaxes.fileNames],
  text: [syntaxes.lines, syntaxes.cells, syntaxes.members],
  head: [syntaxes.pairs, syntaxes.lines],
};

/** Returns the fields of a text for each syntax of its format, in the order of the text. */
export function fieldsOf(bytes: Buffer, format: FieldFormat): readonly (readonly Field[])[] {
  const text = bytes.toString('latin1');
  return syntaxesOf[format].map((syntax) => syntax(text));
}

const strings: Syntax = (text) =>
  Array.from(stringsIn(text, quoted))
    .filter(({ start, end }) => end > start)
    .map((span) => ({ name: '', ...span }));
const words = pairsBy(/(?<=^|[?&;=])()([^=&?#;\s]{1,4096})/dg);

/**
 * Returns all names and values as pieces without names, in order, since a name may be a piece as well. Only
 * JSON, forms and heads give some.
 */
export function fieldPiecesOf(bytes: Buffer, format: FieldFormat): readonly Field[] {
  if (format === 'json') return strings(bytes.toString('latin1'));
  return format === 'form' || format === 'head' ? words(bytes.toString('latin1')) : [];
}
