import { StringDecoder } from 'node:string_decoder';
import type { Reader } from './readers.ts';

const lineLengthMax = 16_384;

/**
 * Cuts a feed into lines without their ends. It gives only the beginning of a line over 16,384 characters.
 */
export class LineReader implements Reader {
  readonly #onLine: (line: string, isCut: boolean) => void;
  readonly #decoder = new StringDecoder('utf8');
  #held = '';
  #isCut = false;
  #line = 1;

  constructor(onLine: (line: string, isCut: boolean) => void) {
    this.#onLine = onLine;
  }

  place(): string {
    return `line ${this.#line}`;
  }

  write(bytes: Buffer): void {
    const text = this.#decoder.write(bytes);
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#hold(text, from, end);
      this.#tell();
      from = end + 1;
    }
    this.#hold(text, from, text.length);
  }

  end(): void {
    this.#held += this.#decoder.end();
    if (this.#held !== '') this.#tell();
  }

  #hold(text: string, from: number, to: number): void {
    const room = lineLengthMax - this.#held.length;
    if (to - from > room) this.#isCut = true;
    this.#held += text.slice(from, Math.min(to, from + room));
  }

  #tell(): void {
    const line = this.#held.endsWith('\r') ? this.#held.slice(0, -1) : this.#held;
    const isCut = this.#isCut;
    this.#held = '';
    this.#isCut = false;
    this.#onLine(line, isCut);
    this.#line++;
  }
}
