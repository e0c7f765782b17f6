import { StringDecoder } from 'node:string_decoder';
import type { Reader } from './readers.ts';
import { FeedRefused } from './refused.ts';

const fieldsMax = 64;
const rowLengthMax = 65_536;

interface CsvHandlers {
  onRow(fields: readonly string[]): void;
  /** Receives a comment: a line that begins with `#`, without the `#`. */
  onComment?(text: string): void;
}

type State = 'row' | 'field' | 'bare' | 'quoted' | 'quote' | 'comment';

/**
 * Reads comma-separated values (RFC 4180), with comments, spaces before a quote, and any end of line. Throws
 * FeedRefused for a row of more than 64 fields or 65,536 characters, as after a quote that never ends. It
 * throws for a last row that is cut, too.
 */
export class CsvReader implements Reader {
  readonly #handlers: CsvHandlers;
  readonly #decoder = new StringDecoder('utf8');
  #state: State = 'row';
  #fields: string[] = [];
  #field = '';
  #rowLength = 0;
  #line = 1;
  /** The number of fields of the first row. A last row with fewer is cut. */
  #width = 0;

  constructor(handlers: CsvHandlers) {
    this.#handlers = handlers;
  }

  place(): string {
    return `line ${this.#line}`;
  }

  write(bytes: Buffer): void {
    this.#read(this.#decoder.write(bytes));
  }

  end(): void {
    this.#read(this.#decoder.end());
    if (this.#state === 'quoted') throw new FeedRefused('The feed ends in the middle of a quoted field.');
    if (this.#state === 'comment') this.#endComment();
    if (this.#state === 'row') return;
    this.#endField();
    if (this.#fields.length < this.#width) throw new FeedRefused('The feed ends in the middle of a row.');
    this.#endRow();
  }

  #read(text: string): void {
    let at = 0;
    while (at < text.length) at = this.#step(text, at);
  }

  /** Reads as far as the state stays the same. Returns the place that it has come to. */
  #step(text: string, at: number): number {
    const char = text.charAt(at);
    switch (this.#state) {
      case 'row':
      case 'field':
        return this.#begin(char, at);
      case 'quoted': {
        const quote = text.indexOf('"', at);
        this.#append(text, at, quote < 0 ? text.length : quote);
        if (quote < 0) return text.length;
        this.#state = 'quote';
        return quote + 1;
      }
      case 'quote':
        if (char !== '"') return this.#afterField(char, at);
        this.#append('"', 0, 1);
        this.#state = 'quoted';
        return at + 1;
      default:
        return this.#plain(text, at);
    }
  }

  #begin(char: string, at: number): number {
    const isRow = this.#state === 'row';
    if (isRow && (char === '\n' || char === '\r')) {
      if (char === '\n') this.#line++;
      return at + 1;
    }
    if (isRow && char === '#') this.#state = 'comment';
    else if (char === '"') this.#state = 'quoted';
    else if (char === ' ' && !isRow) return at + 1;
    else {
      this.#state = 'bare';
      return at;
    }
    return at + 1;
  }

  #plain(text: string, at: number): number {
    const isComment = this.#state === 'comment';
    let end = at;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === 0x0a || (code === 0x2c && !isComment)) break;
    }
    // A comment may be of any length. Its beginning is enough.
    this.#append(text, at, isComment ? Math.min(end, at + rowLengthMax - this.#rowLength - 1) : end);
    if (end === text.length) return end;
    if (!isComment) return this.#afterField(text.charAt(end), end);
    this.#endComment();
    this.#line++;
    return end + 1;
  }

  #append(text: string, from: number, to: number): void {
    if (to <= from) return;
    this.#rowLength += to - from;
    if (this.#rowLength >= rowLengthMax) throw new FeedRefused(`The row at line ${this.#line} does not end.`);
    this.#field += text.slice(from, to);
  }

  /** Ends a field before a comma or line end. What is between a closing quote and that is dropped. */
  #afterField(char: string, at: number): number {
    if (char === ',') {
      this.#endField();
      this.#state = 'field';
    } else if (char === '\n') {
      this.#endField();
      this.#endRow();
      this.#line++;
    }
    return at + 1;
  }

  #endField(): void {
    if (this.#fields.length === fieldsMax) {
      throw new FeedRefused(`The row at line ${this.#line} has more than ${fieldsMax} fields.`);
    }
    this.#fields.push(this.#field.trim());
    this.#field = '';
  }

  #endRow(): void {
    const fields = this.#fields;
    if (this.#width === 0) this.#width = fields.length;
    this.#fields = [];
    this.#rowLength = 0;
    this.#state = 'row';
    this.#handlers.onRow(fields);
  }

  #endComment(): void {
    const text = this.#field.trim();
    this.#field = '';
    this.#rowLength = 0;
    this.#state = 'row';
    this.#handlers.onComment?.(text);
  }
}
