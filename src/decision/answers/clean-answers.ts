const keptMax = 8;
const keptBytesMax = 16_384;

/**
 * Keeps the last few contents in which one reader has found nothing, byte for byte. An agent that polls gets
 * the same answer over and over. To compare it costs a hundredth of reading it.
 */
export class CleanAnswers {
  readonly #kept: Buffer[] = [];
  #next = 0;

  has(content: Buffer): boolean {
    return this.#kept.some((it) => it.length === content.length && it.equals(content));
  }

  /**
   * Keeps a copy, in the place of the one that was kept longest. Contents of more than `keptBytesMax` are not
   * kept.
   */
  add(content: Buffer): void {
    if (content.length > keptBytesMax) return;
    this.#kept[this.#next] = Buffer.from(content);
    this.#next = (this.#next + 1) % keptMax;
  }
}
