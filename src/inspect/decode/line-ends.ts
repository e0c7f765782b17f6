const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Finds the ends of lines in a text that comes byte by byte: LF, CR, or both (HTML Living Standard, 9.2.6).
 * `half` is the second byte of a CR LF; the line has ended with the first.
 */
export class LineEnds {
  #isAfterReturn = false;

  take(byte: number): 'text' | 'end' | 'half' {
    const isAfterReturn = this.#isAfterReturn;
    this.#isAfterReturn = byte === carriageReturn;
    if (byte === lineFeed && isAfterReturn) return 'half';
    return byte === lineFeed || byte === carriageReturn ? 'end' : 'text';
  }
}
