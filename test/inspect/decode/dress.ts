import { gzipSync } from 'node:zlib';

/** Numbers below `limit` that are the same in every run. */
export type RandomSource = (limit: number) => number;

export function randomSource(seed: number): RandomSource {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const secretCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/+=-@#!&"\\ü';

/** Something like a token, with characters that encodings like to trip over. */
export function secretFrom(random: RandomSource): string {
  const character = (): string => secretCharacters[random(secretCharacters.length)] ?? 'x';
  return `tk_${Array.from({ length: 20 + random(60) }, character).join('')}z`;
}

export interface Encoder {
  readonly name: string;
  encode(text: string): string;
}

const bytes = (text: string): Buffer => Buffer.from(text);
const each = (text: string, encode: (byte: number) => string): string =>
  Array.from(bytes(text), encode).join('');
const hexByte = (byte: number): string => byte.toString(16).padStart(2, '0');
const isAscii = (character: string): boolean => character > ' ' && character <= '~';

/** Every way to write a text that is to be read again, as its receiver would undo it. */
export const encoders: readonly Encoder[] = [
  { name: 'percent', encode: (text) => each(text, (byte) => `%${hexByte(byte)}`) },
  { name: 'percent where needed', encode: (text) => encodeURIComponent(text) },
  {
    name: 'JSON',
    encode: (text) =>
      text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  },
  { name: 'JSON string', encode: (text) => JSON.stringify(text).slice(1, -1) },
  {
    name: 'HTML',
    encode: (text) => Array.from(text, (character) => `&#${character.codePointAt(0)};`).join(''),
  },
  { name: 'zero-width', encode: (text) => Array.from(text).join('\u200b') },
  {
    name: 'full-width',
    encode: (text) =>
      Array.from(text, (it) => (isAscii(it) ? String.fromCharCode(it.charCodeAt(0) + 0xfee0) : it)).join(''),
  },
  { name: 'base64', encode: (text) => bytes(text).toString('base64') },
  { name: 'base64url', encode: (text) => bytes(text).toString('base64url') },
  {
    name: 'wrapped base64',
    encode: (text) =>
      bytes(text)
        .toString('base64')
        .replace(/.{76}(?=.)/g, '$&\n'),
  },
  { name: 'gzip', encode: (text) => gzipSync(bytes(text)).toString('base64') },
  { name: 'hex', encode: (text) => bytes(text).toString('hex') },
  {
    name: 'codes',
    encode: (text) => (/^[ -~]*$/.test(text) ? each(text, (byte) => `${byte},`).slice(0, -1) : text),
  },
];

/** The text in all these dresses, the last one outermost. */
export function dress(text: string, layers: readonly (Encoder | undefined)[]): string {
  return layers.reduce((dressed, layer) => layer?.encode(dressed) ?? dressed, text);
}
