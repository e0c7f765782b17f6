import { parsedJson } from '../../util/parsed-json.ts';
import { byteSet } from '../kernel/bytes.ts';
import { longStringPlaces } from '../kernel/string-ends.ts';
import type { Span } from './span-map.ts';

export type JsonTokenKind = '{' | '}' | '[' | ']' | ':' | ',' | 'string' | 'scalar' | 'end';

const structure: readonly (JsonTokenKind | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  return '{}[]:,'.includes(character) ? (character as JsonTokenKind) : undefined;
});
const endsScalar = byteSet('{}[]:,"');
const quote = 0x22;
const backslash = 0x5c;

/**
 * Walks the tokens of a JSON text in one pass, without recursion or values. It checks nothing: text that is
 * no JSON gives some tokens too, and the walk always ends. Everything between structure and white space is a
 * token.
 */
export class JsonTokens {
  readonly #bytes: Buffer;
  /** The starts and ends of long strings, one behind the other. */
  readonly #longStrings: readonly number[];
  #nextLong = 0;
  kind: JsonTokenKind = 'end';
  /**
   * The span of the token, with the quotes of a string. At the end of the text the closing quote may be
   * missing.
   */
  start = 0;
  end = 0;

  constructor(bytes: Buffer, start = 0) {
    this.#bytes = bytes;
    this.end = start;
    this.#longStrings =
      start === 0 && bytes.length >= longTextBytes ? longStringPlaces(bytes, longBytes, false) : none;
  }

  /** Returns the span of the token, of a string without its quotes. */
  get content(): Span {
    const quotes = this.kind === 'string' ? 1 : 0;
    return { start: this.start + quotes, end: this.end - quotes };
  }

  /** Moves to the next token and returns its kind. */
  next(): JsonTokenKind {
    const bytes = this.#bytes;
    const { length } = bytes;
    let at = this.end;
    while (at < length && isSpace(bytes[at] ?? 0)) at += 1;
    this.start = at;
    if (at >= length) this.kind = 'end';
    else if (bytes[at] === quote) {
      this.kind = 'string';
      at = this.#stringEnd(at);
    } else {
      const mark = structure[bytes[at] ?? 0];
      this.kind = mark ?? 'scalar';
      at = mark ? at + 1 : scalarEnd(bytes, at);
    }
    this.end = at;
    return this.kind;
  }

  #stringEnd(start: number): number {
    const places = this.#longStrings;
    let next = this.#nextLong;
    while (next < places.length && (places[next] as number) < start) next += 2;
    this.#nextLong = next;
    return places[next] === start ? (places[next + 1] as number) : stringEnd(this.#bytes, start);
  }
}

/**
 * The number of bytes of a text whose long strings the kernel lists. That takes a third of the time that
 * walking them does.
 */
const longTextBytes = 8_192;
const longBytes = 512;
const none: readonly never[] = Object.freeze([]);

/** Tells whether a byte is white space of JSON (RFC 8259, 2). */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Bound on the steps in a string before the next quote is looked for by `indexOf`. */
const plainSteps = 64;

function stringEnd(bytes: Buffer, start: number): number {
  const { length } = bytes;
  let at = start + 1;
  while (at < length) {
    for (const stop = Math.min(length, at + plainSteps); at < stop; at += 1) {
      const byte = bytes[at];
      if (byte === quote) return at + 1;
      if (byte === backslash) at += 1;
    }
    const next = bytes.indexOf(quote, at);
    if (next < 0) return length;
    let slashesFrom = next;
    while (slashesFrom > at && bytes[slashesFrom - 1] === backslash) slashesFrom -= 1;
    at = next + 1;
    if ((next - slashesFrom) % 2 === 0) return at;
  }
  return length;
}

function scalarEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && !isSpace(bytes[at] ?? 0) && endsScalar[bytes[at] ?? 0] === 0) at += 1;
  return at;
}

/** Returns the text of a string, whose span includes its quotes; the raw text where escapes are broken. */
export function spellJsonString(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString('utf8', start, end);
  if (!raw.includes('\\')) return raw.slice(1, -1);
  // A name that no parser reads is shown as it stands.
  return String(parsedJson(raw) ?? raw.slice(1, -1));
}
