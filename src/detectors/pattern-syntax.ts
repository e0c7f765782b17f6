/*
 * A parser for the regular expressions of detectors: as much of the syntax as they may use, and no more. What it does not
 * know it refuses, so that nothing slips past the check in linear-pattern.ts. Characters are bytes: patterns run on latin-1.
 */

export type Node =
  | { readonly kind: 'set'; readonly has: ByteSet }
  | { readonly kind: 'edge' }
  | { readonly kind: 'look'; readonly behind: boolean; readonly negative: boolean; readonly body: Node }
  | { readonly kind: 'sequence'; readonly items: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly item: Node; readonly min: number; readonly max: number };

/** `set[byte]` is 1 where the byte belongs to it. */
export type ByteSet = Uint8Array;

/** A pattern that a detector may not have. */
export class PatternError extends Error {
  override name = 'PatternError';
}

/** Parses a pattern without flags other than `i`, `s` and `m`. Throws PatternError at what is not understood. */
export function parsePattern(pattern: string, ignoreCase: boolean): Node {
  const parser = new Parser(pattern, ignoreCase);
  const node = parser.choice();
  if (!parser.atEnd()) throw new PatternError(`unexpected ")" at ${parser.at}`);
  return node;
}

class Parser {
  at = 0;
  readonly #text: string;
  readonly #ignoreCase: boolean;

  constructor(text: string, ignoreCase: boolean) {
    this.#text = text;
    this.#ignoreCase = ignoreCase;
  }

  atEnd = (): boolean => this.at >= this.#text.length;

  choice(): Node {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 ? (options[0] as Node) : { kind: 'choice', options };
  }

  #sequence(): Node {
    const items: Node[] = [];
    while (!this.atEnd() && !this.#sees('|') && !this.#sees(')')) items.push(this.#repeated());
    return items.length === 1 ? (items[0] as Node) : { kind: 'sequence', items };
  }

  #repeated(): Node {
    const item = this.#atom();
    const count = this.#count();
    if (count === undefined) return item;
    this.#take('?');
    return { kind: 'repeat', item, ...count };
  }

  #count(): { min: number; max: number } | undefined {
    if (this.#take('?')) return { min: 0, max: 1 };
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    const braces = this.#takeMatch(/\{(\d+)(,?)(\d*)\}/y);
    if (braces === undefined) return undefined;
    const min = Number(braces[1]);
    if (braces[2] === '') return { min, max: min };
    return { min, max: braces[3] === '' ? Number.POSITIVE_INFINITY : Number(braces[3]) };
  }

  #atom(): Node {
    if (this.#take('^') || this.#take('$')) return { kind: 'edge' };
    if (this.#take('.')) return { kind: 'set', has: setOf((byte) => byte !== 10 && byte !== 13) };
    if (this.#take('[')) return { kind: 'set', has: this.#class() };
    const look = this.#takeMatch(/\(\?(<?)([=!])/y);
    if (look)
      return { kind: 'look', behind: look[1] === '<', negative: look[2] === '!', body: this.#group() };
    if (this.#takeMatch(/\((?:\?:|\?<\w+>|(?!\?))/y)) return this.#group();
    if (this.#takeMatch(/\\[bB]/y)) return { kind: 'edge' };
    if (this.#take('\\')) return { kind: 'set', has: this.#fold(this.#escape()) };
    const character = this.#text[this.at] as string;
    if ('*+?{}()'.includes(character)) throw new PatternError(`unexpected "${character}" at ${this.at}`);
    this.at++;
    return { kind: 'set', has: this.#fold(single(character)) };
  }

  #group(): Node {
    const body = this.choice();
    if (!this.#take(')')) throw new PatternError('a group is not closed');
    return body;
  }

  #class(): ByteSet {
    const negated = this.#take('^');
    const members = new Uint8Array(256);
    while (!this.#take(']')) {
      if (this.atEnd()) throw new PatternError('a character class is not closed');
      const from = this.#member();
      const isRange = this.#sees('-') && this.#text[this.at + 1] !== ']';
      if (!isRange) {
        for (let byte = 0; byte < 256; byte++) if (from[byte] === 1) members[byte] = 1;
        continue;
      }
      this.#take('-');
      const [low, high] = [from.indexOf(1), this.#member().lastIndexOf(1)];
      members.fill(1, low, high + 1);
    }
    const folded = this.#fold(members);
    return negated ? folded.map((isIn) => 1 - isIn) : folded;
  }

  #member(): ByteSet {
    if (this.#take('\\')) return this.#escape();
    return single(this.#text[this.at++] ?? '');
  }

  #escape(): ByteSet {
    const hex = this.#takeMatch(/x([0-9A-Fa-f]{2})/y);
    if (hex) return single(String.fromCharCode(Number.parseInt(hex[1] as string, 16)));
    const character = this.#text[this.at++] ?? '';
    const named = namedSets[character];
    if (named !== undefined) return named;
    if (/[0-9A-Za-z]/.test(character)) throw new PatternError(`\\${character} is not supported`);
    return single(character);
  }

  #fold(members: ByteSet): ByteSet {
    if (!this.#ignoreCase) return members;
    return setOf((byte) => members[byte] === 1 || (isAsciiLetter(byte) && members[byte ^ 0x20] === 1));
  }

  #sees = (character: string): boolean => this.#text[this.at] === character;

  #take(character: string): boolean {
    if (!this.#sees(character)) return false;
    this.at++;
    return true;
  }

  #takeMatch(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.at;
    const match = sticky.exec(this.#text);
    if (match !== null) this.at = sticky.lastIndex;
    return match ?? undefined;
  }
}

const setOf = (includes: (byte: number) => boolean): ByteSet => {
  const set = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) if (includes(byte)) set[byte] = 1;
  return set;
};
const single = (character: string): ByteSet => {
  const code = character.charCodeAt(0);
  if (!(code <= 0xff)) throw new PatternError('a character is missing or not latin-1');
  const set = new Uint8Array(256);
  set[code] = 1;
  return set;
};
const matching = (regex: RegExp): ByteSet => setOf((byte) => regex.test(String.fromCharCode(byte)));
const isAsciiLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;

const namedSets: Readonly<Record<string, ByteSet>> = Object.fromEntries(
  [/\d/, /\D/, /\w/, /\W/, /\s/, /\S/, /\n/, /\r/, /\t/].map((regex) => [
    regex.source.slice(1),
    matching(regex),
  ]),
);
