import type { Reader } from './readers.ts';
import { FeedRefused } from './refused.ts';

/*
 * Reads JSON (RFC 8259) piece by piece. Of every object it keeps the wanted members that are neither objects
 * nor arrays. At the end of an object it tells these members, and those of the objects around it, as far as
 * they have been read. That is enough for feeds, and a feed of any size needs no more memory than its deepest
 * nesting.
 */

const depthMax = 64;
const stringBytesMax = 16_384;
const literal = /^(?:true|false|null|-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?)$/;
const literalLengthMax = 1000;

/** The wanted members of an object by name, as texts. */
type Members = Readonly<Record<string, string>>;

interface JsonOptions {
  readonly wanted: readonly string[];
  /**
   * Receives an object at its end. `around` are the objects that it lies in, from the innermost to the
   * outermost.
   */
  onObject(members: Members, around: readonly Members[]): void;
  /** Receives a text that is an element of an array. */
  onItem?(text: string): void;
  /** Several documents may stand one behind the other, as in JSON lines. */
  readonly isMany?: boolean;
}

interface Frame {
  readonly isObject: boolean;
  readonly members: Record<string, string>;
  /** The member whose value comes next; undefined where it is not wanted. */
  name: string | undefined;
}

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing';

const quote = 0x22;
const backslash = 0x5c;

export class JsonReader implements Reader {
  readonly #options: JsonOptions;
  readonly #wanted: ReadonlySet<string>;
  readonly #stack: Frame[] = [];
  #expected: Expected = 'value';
  #isInString = false;
  #isAfterBackslash = false;
  /** The pieces of the present string. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  #literal = '';
  #line = 1;

  constructor(options: JsonOptions) {
    this.#options = options;
    this.#wanted = new Set(options.wanted);
  }

  place(): string {
    return `line ${this.#line}`;
  }

  write(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      at = this.#isInString ? this.#string(bytes, at) : this.#token(bytes, at);
    }
  }

  end(): void {
    if (this.#literal !== '') this.#endLiteral();
    const isWhole = this.#stack.length === 0 && !this.#isInString && this.#expected === 'nothing';
    if (!isWhole) throw new FeedRefused('The JSON ends in the middle.');
  }

  #token(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? 0;
    const isWord = byte === 0x2b || byte === 0x2d || byte === 0x2e || isAlphanumeric(byte);
    if (isWord) {
      if (this.#literal.length >= literalLengthMax) this.#refuse();
      this.#literal += String.fromCharCode(byte);
      return at + 1;
    }
    if (this.#literal !== '') this.#endLiteral();
    switch (byte) {
      case 0x0a:
        this.#line++;
        break;
      case 0x20:
      case 0x09:
      case 0x0d:
        break;
      case quote:
        this.#isInString = true;
        break;
      case 0x7b: // {
      case 0x5b: // [
        this.#open(byte === 0x7b);
        break;
      case 0x7d: // }
      case 0x5d: // ]
        this.#close(byte === 0x7d);
        break;
      case 0x3a: // :
        this.#expect('colon', 'value');
        break;
      case 0x2c: // ,
        this.#expect('comma or end', this.#stack.at(-1)?.isObject ? 'name' : 'value');
        break;
      default:
        this.#refuse();
    }
    return at + 1;
  }

  #string(bytes: Buffer, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#isAfterBackslash) this.#isAfterBackslash = false;
      else if (byte === backslash) this.#isAfterBackslash = true;
      else if (byte === quote) break;
      else if (byte === 0x0a) this.#refuse();
    }
    const room = stringBytesMax - this.#heldBytes;
    // The caller may use the memory of a piece again, so what outlives this call is copied.
    if (room > 0) this.#held.push(Buffer.from(bytes.subarray(from, Math.min(at, from + room))));
    this.#heldBytes += at - from;
    if (at === bytes.length) return at;
    this.#isInString = false;
    this.#endString();
    return at + 1;
  }

  #endString(): void {
    const frame = this.#stack.at(-1);
    const isName = this.#expected === 'name' || this.#expected === 'name or end';
    const isItem = frame?.isObject === false && this.#options.onItem !== undefined;
    const isKept = isName || isItem || frame?.name !== undefined;
    const text = isKept && this.#heldBytes <= stringBytesMax ? this.#decoded() : undefined;
    this.#held = [];
    this.#heldBytes = 0;
    if (!isName) {
      this.#value(text);
      if (isItem && text !== undefined) this.#options.onItem?.(text);
    } else {
      if (frame) frame.name = text !== undefined && this.#wanted.has(text) ? text : undefined;
      this.#expected = 'colon';
    }
  }

  #decoded(): string {
    const [first = Buffer.alloc(0), ...more] = this.#held;
    const text = (more.length === 0 ? first : Buffer.concat(this.#held)).toString('utf8');
    if (!text.includes('\\')) return text;
    try {
      return String(JSON.parse(`"${text.replaceAll('\t', ' ')}"`));
    } catch {
      return this.#refuse();
    }
  }

  #endLiteral(): void {
    const text = this.#literal;
    this.#literal = '';
    if (!literal.test(text)) this.#refuse();
    this.#value(text === 'null' ? undefined : text);
  }

  #value(text: string | undefined): void {
    const frame = this.#stack.at(-1);
    this.#expectValue();
    if (frame?.name === undefined) return;
    if (text !== undefined) frame.members[frame.name] = text;
    frame.name = undefined;
  }

  #open(isObject: boolean): void {
    this.#expectValue();
    const around = this.#stack.at(-1);
    if (around) around.name = undefined;
    if (this.#stack.length === depthMax)
      throw new FeedRefused(`The JSON nests deeper than ${depthMax} levels.`);
    this.#stack.push({ isObject, members: {}, name: undefined });
    this.#expected = isObject ? 'name or end' : 'value or end';
  }

  #close(isObject: boolean): void {
    const frame = this.#stack.pop();
    const mayEnd = this.#expected.endsWith(' or end');
    if (frame?.isObject !== isObject || !mayEnd) this.#refuse();
    this.#expected = this.#stack.length === 0 ? 'nothing' : 'comma or end';
    if (!isObject || frame === undefined) return;
    const around = this.#stack.filter((it) => it.isObject).reverse();
    this.#options.onObject(
      frame.members,
      around.map((it) => it.members),
    );
  }

  #expectValue(): void {
    const isNext = this.#expected === 'nothing' && this.#options.isMany === true;
    if (!isNext && this.#expected !== 'value' && this.#expected !== 'value or end') this.#refuse();
    this.#expected = this.#stack.length === 0 ? 'nothing' : 'comma or end';
  }

  #expect(now: Expected, next: Expected): void {
    if (this.#expected !== now) this.#refuse();
    this.#expected = next;
  }

  #refuse(): never {
    throw new FeedRefused(`The JSON has a mistake at line ${this.#line}.`);
  }
}

const isAlphanumeric = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a);
