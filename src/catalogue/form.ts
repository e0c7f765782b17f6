import { unescape as decodePercent } from 'node:querystring';
import { fits } from './template.ts';

/** One field of a form or a query; the name is decoded, the value is not yet. */
export interface Field {
  readonly name: string;
  readonly value: string;
}

/** Decodes what stands in a query or an urlencoded form. Malformed escapes are left as they are, as servers do. */
export function decodeField(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodePercent(spaced) : spaced;
}

/** Fields of `application/x-www-form-urlencoded` (WHATWG URL, 5.1), at most `max` of them, in time linear in the text. */
export function parseFields(text: string, max = Number.POSITIVE_INFINITY): readonly Field[] {
  const fields: Field[] = [];
  for (let start = 0; start < text.length && fields.length < max; ) {
    const ampersand = text.indexOf('&', start);
    const end = ampersand < 0 ? text.length : ampersand;
    if (end > start) fields.push(toField(text.slice(start, end)));
    start = end + 1;
  }
  return fields;
}

/** `name=`, as forms begin; what begins so is read as one whatever its type says. */
export const formStart = /^[^\s&=<>{}"]{1,256}=/;

/** The fields that servers see besides which take `;` for `&`, as HTML 4.01 (B.2.2) wanted it; at most `max` of each pair. */
export const piecesOf = (text: string, max = Number.POSITIVE_INFINITY): readonly Field[] =>
  text
    .split('&')
    .filter((pair) => pair.includes(';'))
    .flatMap((pair) => parseFields(pair.replaceAll(';', '&'), max));

/** The fields of a form or a query, in both ways in which servers read it. */
export const allFields = (text: string): readonly Field[] =>
  text.includes(';') ? [...parseFields(text), ...piecesOf(text)] : parseFields(text);

function toField(pair: string): Field {
  const equals = pair.indexOf('=');
  if (equals < 0) return { name: decodeField(pair), value: '' };
  return { name: decodeField(pair.slice(0, equals)), value: decodeField(pair.slice(equals + 1)) };
}

const partHeadMax = 2048;
const partsMax = 10_000;
const partValueMax = 65_536;
const boundaryOf = /\bboundary=(?:"([^"]{1,200})"|([^\s";,]{1,200}))/i;
const nameOf = /[;\s]name=(?:"([^"]*)"|([^\s";]*))/i;

/** Fields of `multipart/form-data` (RFC 7578). Of a file there is no more than the first 64 KB. */
export function multipartFields(text: string, contentType: string): readonly Field[] {
  const [, quoted, plain] = boundaryOf.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return [];
  const fields: Field[] = [];
  for (const part of text.split(`--${boundary}`, partsMax)) {
    const gap = /\r?\n\r?\n/.exec(part.slice(0, partHeadMax));
    const [, inQuotes, bare] = (gap && nameOf.exec(part.slice(0, gap.index))) ?? [];
    const name = inQuotes ?? bare;
    if (!gap || name === undefined) continue;
    const value = part.slice(gap.index + gap[0].length).slice(0, partValueMax);
    fields.push({ name, value: value.replace(/\r?\n$/, '') });
  }
  return fields;
}

/** The contents of the parts of a multipart body (RFC 2046, 5.1), without their own heads; at most `max`. */
export function rawParts(text: string, contentType: string, max: number): readonly string[] {
  const [, quoted, plain] = boundaryOf.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return [];
  const parts: string[] = [];
  for (const part of text.split(`--${boundary}`, max + 2).slice(1)) {
    if (part.startsWith('--')) break;
    const gap = /\r?\n\r?\n/.exec(part.slice(0, partHeadMax));
    parts.push(gap ? part.slice(gap.index + gap[0].length).replace(/\r?\n$/, '') : '');
  }
  return parts;
}

/** Values of all fields with the name, in which one `*` stands for anything: `Tags.member.*.Key`. */
export function valuesNamed(fields: readonly Field[], name: string): readonly string[] {
  const star = name.indexOf('*');
  const affix = { prefix: name.slice(0, star), suffix: name.slice(star + 1) };
  const isNamed =
    star < 0 ? (field: Field) => field.name === name : (field: Field) => fits(field.name, affix);
  return fields.filter(isNamed).map(({ value }) => value);
}
