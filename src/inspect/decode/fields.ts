import type { BodyFormat } from './body-format.ts';
import type { Span } from './span-map.ts';

/*
 * The values of a text with the names that they stand behind. Read as text, not parsed: a JSON text in a JSON string, one that is broken,
 * or one in a log line has fields too. No part of a pattern is unbounded and none can be read in two ways, so the time is linear.
 */

/** The span is the value's, without quotes. Items of a list have no name. */
export interface Field extends Span {
  readonly name: string;
}

/** What a text is written in: the format of a body, or URL and headers as one text. */
export type FieldFormat = BodyFormat | 'head';

type Syntax = (text: string) => Field[];

/** A pattern whose first group is the name and whose second is the value. */
const pairsBy =
  (pattern: RegExp): Syntax =>
  (text) =>
    Array.from(text.matchAll(pattern), ({ 1: name = '', indices }) => {
      const [start, end] = indices?.[2] ?? [0, 0];
      return { name, start, end };
    });

/** A string of a JSON text, and what stands behind a name; and the same in a JSON text that is a string of another one. */
const string = /(?<!\\)"((?:[^"\\]|\\[\s\S]){0,4096})"(\s{0,8}:\s{0,8})?/g;
const nestedString = /(?<!\\)\\"((?:[^"\\]|\\\\(?:[^"\\]|\\")){0,4096})\\"(\s{0,8}:\s{0,8})?/g;

/** The value stands right behind the opening quote, so that nobody has to ask for its place: the pattern would run once more for each. */
const stringsBy =
  (pattern: RegExp, quoteLength: number): Syntax =>
  (text) => {
    const fields: Field[] = [];
    let name = '';
    let valueAt = -1;
    for (const { 0: whole, 1: value = '', 2: colon, index } of text.matchAll(pattern)) {
      if (colon !== undefined) {
        name = value;
        valueAt = index + whole.length;
      } else if (value !== '') {
        const start = index + quoteLength;
        fields.push({ name: valueAt === index ? name : '', start, end: start + value.length });
      }
    }
    return fields;
  };

const nestedStrings = stringsBy(nestedString, 2);

const syntaxes = {
  members: stringsBy(string, 1),
  nestedMembers: (text) => (text.includes('\\"') ? nestedStrings(text) : []),
  /** Of forms, queries and cookies. */
  pairs: pairsBy(/(?<=^|[?&;#\s])([^=&?#;:/\s]{1,64})=([^&#;\s]{1,4096})/dg),
  elements: pairsBy(/<([A-Za-z_][\w.:-]{0,63})(?:\s[^<>]{0,256})?>([^<]{1,4096})<\//dg),
  attributes: pairsBy(/(?<=\s)([A-Za-z_][\w.:-]{0,63})\s{0,8}=\s{0,8}["']([^"'<>]{1,4096})["']/dg),
  /** RFC 7578, 4.2: parts whose content is one line, and the names of files. */
  parts: pairsBy(
    /name="([^"\r\n]{1,64})"[^\r\n]{0,256}\r\n(?:[^\r\n]{1,256}\r\n){0,4}\r\n([^\r\n]{1,4096})\r\n--/dg,
  ),
  fileNames: pairsBy(/ name="([^"\r\n]{1,64})"; filename="([^"\r\n]{1,1024})"/dg),
  /** Header fields, environment files, YAML. */
  lines: pairsBy(/(?<=^|\n)[ \t-]{0,16}([A-Za-z][\w.-]{0,63}) ?[:=](?!\/\/) ?([^\r\n]{1,4096})/dg),
  /** RFC 4180; names are not told from values. */
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

/** The fields of a text, by each of the syntaxes that its format may have, in the order of the text. */
export function fieldsOf(bytes: Buffer, format: FieldFormat): readonly (readonly Field[])[] {
  const text = bytes.toString('latin1');
  return syntaxesOf[format].map((syntax) => syntax(text));
}

const strings: Syntax = (text) =>
  Array.from(text.matchAll(/(?<!\\)"((?:[^"\\]|\\[\s\S]){1,4096})"/g), ({ 1: value = '', index }) => ({
    name: '',
    start: index + 1,
    end: index + 1 + value.length,
  }));
const words = pairsBy(/(?<=^|[?&;=])()([^=&?#;\s]{1,4096})/dg);

/** Names and values alike, in the order of the text and without names: a name may be a piece as well. Of some formats none. */
export function piecesOf(bytes: Buffer, format: FieldFormat): readonly Field[] {
  if (format === 'json') return strings(bytes.toString('latin1'));
  return format === 'form' || format === 'head' ? words(bytes.toString('latin1')) : [];
}
