import { byteSet, readHex } from '../kernel/bytes.ts';
import { JsonTokens } from './json-tokens.ts';
import type { Span } from './span-map.ts';

/** A part of a text that can be cut without harm to the text around it. */
export interface CutToken extends Span {
  /** Tells whether it is a JSON number or literal, which is cut as a whole and becomes a string. */
  readonly isScalar?: boolean;
  /**
   * Tells whether it is a name. A cut that only reaches across a name leaves it, so that the structure stays.
   */
  readonly isName?: boolean;
}

/** The way in which values of a format can be cut. */
export interface CutRules {
  /** Yields all bytes except the format's structure, from left to right. */
  tokens(bytes: Buffer): Iterable<CutToken>;
  /** Returns how many bytes from `at` on belong together, at least 1. */
  unitLength(bytes: Buffer, at: number): number;
}

const backslash = 0x5c;
const ampersand = 0x26;
const equalsSign = 0x3d;
const letterU = 0x75;

export const jsonRules: CutRules = {
  *tokens(bytes) {
    const tokens = new JsonTokens(bytes);
    let string: Span | undefined;
    for (let kind = tokens.next(); ; kind = tokens.next()) {
      if (string) yield { ...string, isName: kind === ':' };
      if (kind === 'end') return;
      string = kind === 'string' ? tokens.content : undefined;
      if (kind === 'scalar') yield { ...tokens.content, isScalar: true };
    }
  },
  unitLength(bytes, at) {
    if (bytes[at] !== backslash) return 1;
    if (bytes[at + 1] !== letterU) return 2;
    const isHigh = (readHex(bytes, at + 2, 4) & 0xfc00) === 0xd800;
    return isHigh && bytes[at + 6] === backslash && bytes[at + 7] === letterU ? 12 : 6;
  },
};

/** Rules for names and values of `name=value&…`; an `=` inside a value belongs to it. */
export const formRules: CutRules = {
  *tokens(bytes) {
    let start = 0;
    while (start < bytes.length) {
      const next = bytes.indexOf(ampersand, start);
      const end = next < 0 ? bytes.length : next;
      const equals = bytes.subarray(start, end).indexOf(equalsSign);
      if (equals >= 0) yield { start, end: start + equals, isName: true };
      yield { start: equals < 0 ? start : start + equals + 1, end };
      start = end + 1;
    }
  },
  unitLength: (bytes, at) => (bytes[at] === 0x25 && readHex(bytes, at + 1, 2) >= 0 ? 3 : 1),
};

const slash = 0x2f;
const tagStructure = byteSet('<>"\'= \t\r\n');
const entityLengthMax = 32;
/** Markup that holds text instead of names. */
const textMarkup = [
  { open: Buffer.from('<![CDATA['), close: Buffer.from(']]>') },
  { open: Buffer.from('<!--'), close: Buffer.from('-->') },
];

/**
 * Rules for XML. They give the text between tags, and in tags all but the delimiters, since names may hold
 * secrets.
 */
export const xmlRules: CutRules = {
  *tokens(bytes) {
    let start = 0;
    while (start < bytes.length) {
      const tag = bytes.indexOf(0x3c, start);
      yield { start, end: tag < 0 ? bytes.length : tag };
      if (tag < 0) return;
      const text = textMarkup.find(({ open }) => bytes.subarray(tag, tag + open.length).equals(open));
      const close = text ? bytes.indexOf(text.close, tag) : bytes.indexOf(0x3e, tag);
      const end = close < 0 ? bytes.length : close;
      if (text) yield { start: tag + text.open.length, end };
      else yield* tagTokens(bytes, tag + (bytes[tag + 1] === slash ? 2 : 1), end);
      start = end + (text ? text.close.length : 1);
    }
  },
  unitLength(bytes, at) {
    if (bytes[at] !== ampersand) return 1;
    const length = bytes.subarray(at, at + entityLengthMax).indexOf(0x3b) + 1;
    return /^&#?\w+;$/.test(bytes.toString('latin1', at, at + length)) ? length : 1;
  },
};

const isBlank = byteSet(' \t\r\n');
const isQuote = byteSet('"\'');

/** Yields the tokens of a tag. A quoted value is one token; an unclosed one goes to the end of the tag. */
function* tagTokens(bytes: Buffer, from: number, to: number): Iterable<CutToken> {
  let start = from;
  let isValue = false;
  for (let at = from; at <= to; at += 1) {
    const byte = at < to ? (bytes[at] as number) : undefined;
    if (byte !== undefined && tagStructure[byte] === 0) continue;
    if (at > start) yield { start, end: at, isName: start === from || (byte === equalsSign && !isValue) };
    if (byte !== undefined && isValue && at === start && isQuote[byte] === 1) {
      const quote = bytes.indexOf(byte, at + 1);
      const end = quote < 0 ? to : Math.min(quote, to);
      if (end > at + 1) yield { start: at + 1, end };
      at = end;
    }
    isValue = byte === equalsSign || (isValue && at === start && byte !== undefined && isBlank[byte] === 1);
    start = at + 1;
  }
}

/** Matches fields whose values are structure, apart from their parameters. */
const structuralField = /^content-(?:disposition|type|transfer-encoding)[ \t]*:/i;
/** Matches a parameter's value, quoted or not. */
const parameterValue = /=[ \t]*(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s";]+))/dg;
const fieldValue = /:[ \t]*([^\r\n]+)/dg;

/**
 * Rules for the header of a multipart body's part (RFC 7578, 4.8). They give file names, other parameters,
 * and values of unusual fields.
 */
export const partHeadRules: CutRules = {
  *tokens(bytes) {
    let start = 0;
    for (const line of bytes.toString('latin1').split('\n')) {
      for (const { indices } of line.matchAll(structuralField.test(line) ? parameterValue : fieldValue)) {
        const [from, to] = indices?.[1] ?? indices?.[2] ?? [0, 0];
        if (to > from) yield { start: start + from, end: start + to };
      }
      start += line.length + 1;
    }
  },
  unitLength: formRules.unitLength,
};
