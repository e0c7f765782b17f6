import {
  allBytes,
  type ByteSet,
  bytesBetween,
  bytesMatching,
  complementOf,
  noBytes,
  singleByte,
  withBothCases,
} from './byte-set.ts';

/*
 * Parses the regular expressions of detectors, with only the syntax that they may use. It refuses all other
 * syntax, so that nothing escapes the check in linear-pattern.ts. Characters are bytes, since patterns run on
 * latin-1.
 */

export type Node =
  | { readonly kind: 'set'; readonly has: ByteSet }
  | { readonly kind: 'edge' }
  | { readonly kind: 'look'; readonly behind: boolean; readonly negative: boolean; readonly body: Node }
  | { readonly kind: 'sequence'; readonly items: readonly Node[] }
  | { readonly kind: 'choice'; readonly options: readonly Node[] }
  | { readonly kind: 'repeat'; readonly item: Node; readonly min: number; readonly max: number };

export function childrenOf(node: Node): readonly Node[] {
  if (node.kind === 'sequence') return node.items;
  if (node.kind === 'choice') return node.options;
  if (node.kind === 'repeat') return [node.item];
  return node.kind === 'look' ? [node.body] : [];
}

/** Reports what is wrong with a pattern that a detector may not have. */
export class PatternError extends Error {
  override name = 'PatternError';
}

/** Parses a pattern with no flags but `i`, `s` and `m`. Throws PatternError for unsupported syntax. */
export function parsePattern(pattern: string, flags: string): Node {
  const parser = new Parser(pattern, flags);
  const node = parser.choice();
  if (!parser.atEnd()) throw new PatternError(`unexpected ")" at ${parser.at}`);
  return node;
}

class Parser {
  at = 0;
  readonly #text: string;
  readonly #ignoreCase: boolean;
  readonly #anyByte: ByteSet;

  constructor(text: string, flags: string) {
    this.#text = text;
    this.#ignoreCase = flags.includes('i');
    this.#anyByte = flags.includes('s') ? allBytes : anyOfLine;
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
    if (this.#take('.')) return { kind: 'set', has: this.#anyByte };
    if (this.#take('[')) return { kind: 'set', has: this.#class() };
    const look = this.#takeMatch(/\(\?(<?)([=!])/y);
    if (look)
      return { kind: 'look', behind: look[1] === '<', negative: look[2] === '!', body: this.#group() };
    if (this.#takeMatch(/\((?:\?:|\?<\w+>|(?!\?))/y)) return this.#group();
    if (this.#takeMatch(/\\[bB]/y)) return { kind: 'edge' };
    const character = this.#text[this.at] as string;
    if ('*+?{}()'.includes(character)) throw new PatternError(`unexpected "${character}" at ${this.at}`);
    return { kind: 'set', has: this.#fold(setOf(this.#member())) };
  }

  #group(): Node {
    const body = this.choice();
    if (!this.#take(')')) throw new PatternError('a group is not closed');
    return body;
  }

  #class(): ByteSet {
    const negated = this.#take('^');
    let members = noBytes;
    while (!this.#take(']')) {
      if (this.atEnd()) throw new PatternError('a character class is not closed');
      const from = this.#member();
      const isRange = this.#sees('-') && this.#text[this.at + 1] !== ']';
      members |= isRange ? this.#rangeFrom(from) : setOf(from);
    }
    const folded = this.#fold(members);
    return negated ? complementOf(folded) : folded;
  }

  #rangeFrom(low: Member): ByteSet {
    this.#take('-');
    const high = this.#member();
    if (typeof low !== 'number' || typeof high !== 'number')
      throw new PatternError('a range cannot begin or end with several characters, as \\d');
    return bytesBetween(low, high);
  }

  #member(): Member {
    if (this.#take('\\')) return this.#escape();
    return byteOf(this.#text[this.at++]);
  }

  #escape(): Member {
    const hex = this.#takeMatch(/x([0-9A-Fa-f]{2})/y);
    if (hex) return Number.parseInt(hex[1] as string, 16);
    const character = this.#text[this.at++] ?? '';
    const named = namedMembers[character];
    if (named !== undefined) return named;
    if (/[0-9A-Za-z]/.test(character)) throw new PatternError(`\\${character} is not supported`);
    return byteOf(character);
  }

  #fold = (members: ByteSet): ByteSet => (this.#ignoreCase ? withBothCases(members) : members);

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

/** A byte, or the set of bytes that an escape such as `\d` stands for. */
type Member = number | ByteSet;

const setOf = (member: Member): ByteSet => (typeof member === 'number' ? singleByte(member) : member);

function byteOf(character = ''): number {
  const code = character.charCodeAt(0);
  if (!(code <= 0xff)) throw new PatternError('a character is missing or not latin-1');
  return code;
}

const anyOfLine = bytesMatching(/./);
const namedMembers: Readonly<Record<string, Member>> = {
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  ...Object.fromEntries(
    [/\d/, /\D/, /\w/, /\W/, /\s/, /\S/].map((regex) => [regex.source.slice(1), bytesMatching(regex)]),
  ),
};

/** Returns the most bytes that a match can have, including its lookahead. */
export function reachOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1;
    case 'edge':
      return 0;
    case 'look':
      return node.behind ? 0 : reachOf(node.body);
    case 'repeat':
      return node.max * reachOf(node.item);
    case 'choice':
      return Math.max(...node.options.map(reachOf));
    case 'sequence': {
      let [passed, reach] = [0, 0];
      for (const item of node.items) {
        // Asked twice of each item, nested groups would double the time with every level.
        const own = reachOf(item);
        reach = Math.max(reach, passed + own);
        // A lookahead reads what the next items match.
        if (item.kind !== 'look') passed += own;
      }
      return reach;
    }
  }
}
