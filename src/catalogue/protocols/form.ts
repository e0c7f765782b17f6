import { unescape as decodePercent } from 'node:querystring';
import { fits } from '../load/template.ts';
import { parseMultipart } from './multipart.ts';

/** A field of a form or a query, with name and value decoded. */
export interface FormField {
  readonly name: string;
  readonly value: string;
}

/** Decodes a text of a query or an urlencoded form. Malformed escapes stay as they are, as in servers. */
export function decodeField(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodePercent(spaced) : spaced;
}

/** Parses at most `max` fields of an urlencoded form (WHATWG URL, 5.1), in time linear in the text. */
export function parseFields(text: string, max = Number.POSITIVE_INFINITY): readonly FormField[] {
  const fields: FormField[] = [];
  for (let start = 0; start < text.length && fields.length < max; ) {
    const ampersand = text.indexOf('&', start);
    const end = ampersand < 0 ? text.length : ampersand;
    if (end > start) fields.push(toField(text.slice(start, end)));
    start = end + 1;
  }
  return fields;
}

/** Matches `name=`, as forms begin. A body that begins so is read as a form, whatever its type says. */
export const formStart = /^[^\s&=<>{}"]{1,256}=/;

/**
 * Returns the fields of pairs with `;`, at most `max` of each pair, as servers read them that take `;` for
 * `&` (HTML 4.01, B.2.2).
 */
export const formPiecesOf = (text: string, max = Number.POSITIVE_INFINITY): readonly FormField[] =>
  text
    .split('&')
    .filter((pair) => pair.includes(';'))
    .flatMap((pair) => parseFields(pair.replaceAll(';', '&'), max));

/**
 * Returns the fields of a form or a query in both ways in which servers read them: `;` divides fields, or it
 * does not.
 */
export const allFields = (text: string): readonly FormField[] =>
  text.includes(';') ? [...parseFields(text), ...formPiecesOf(text)] : parseFields(text);

function toField(pair: string): FormField {
  const equals = pair.indexOf('=');
  if (equals < 0) return { name: decodeField(pair), value: '' };
  return { name: decodeField(pair.slice(0, equals)), value: decodeField(pair.slice(equals + 1)) };
}

const partValueMax = 65_536;

/**
 * Returns the named parts of a multipart body (RFC 7578), the first 64 KB of each. Returns none if servers
 * may split it differently.
 */
export const multipartFields = (text: string, contentType: string): readonly FormField[] =>
  (parseMultipart(text, contentType) ?? []).flatMap(({ name, value }) =>
    name === undefined ? [] : { name, value: value.slice(0, partValueMax) },
  );

const none: readonly string[] = Object.freeze([]);

/**
 * Returns the values of all fields with the name, in which one `*` stands for anything: `Tags.member.*.Key`.
 */
export function valuesNamed(fields: readonly FormField[], name: string): readonly string[] {
  if (fields.length === 0) return none;
  const star = name.indexOf('*');
  const affix = { prefix: name.slice(0, star), suffix: name.slice(star + 1) };
  const isNamed =
    star < 0 ? (field: FormField) => field.name === name : (field: FormField) => fits(field.name, affix);
  return fields.filter(isNamed).map(({ value }) => value);
}
