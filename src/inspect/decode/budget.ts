/** How much may be read; `isOver` tells when there is no more time. */
export interface Bounds {
  /** Of all decoded forms together. */
  readonly maxDecodedBytes: number;
  /** How many encodings inside one another are taken off. */
  readonly depthMax: number;
  readonly isOver: () => boolean;
}

/** Something could not be read to its end. The message is a sentence for the caller, without content. */
export class UnreadableError extends Error {}

/** The time was over before the content was: nothing is said of the content by that. */
export class OutOfTimeError extends UnreadableError {}

/** Bytes that are read between two looks at the clock; a decoder reads so many in well under a millisecond. */
const bytesPerCheck = 65_536;

/** Of values that begin alike, and of beginnings. */
const failedTriesMax = 64;
const beginningsMax = 4096;
/** Longer values are not remembered. */
const failedValueBytes = 64;

/** Keeps count of what decoding has made; its methods throw an `UnreadableError` once a bound is passed. */
export class DecodeBudget {
  readonly #bounds: Bounds;
  #spentBytes = 0;
  #uncheckedBytes = 0;
  #failedTries: Map<number, number> | undefined;
  #failedValues: Set<string> | undefined;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get maxDecodedBytes(): number {
    return this.#bounds.maxDecodedBytes;
  }

  get remainingBytes(): number {
    return this.#bounds.maxDecodedBytes - this.#spentBytes;
  }

  spend(bytes: number): void {
    this.#spentBytes += bytes;
    if (this.remainingBytes < 0) throw this.tooLarge();
    this.check();
  }

  check(): void {
    if (this.#bounds.isOver()) throw new OutOfTimeError('Reading the content took too long.');
  }

  /** Tells of bytes that were read, or of steps like it; now and then that is a `check`. */
  work(bytes: number): void {
    this.#uncheckedBytes += bytes;
    if (this.#uncheckedBytes < bytesPerCheck) return;
    this.#uncheckedBytes = 0;
    this.check();
  }

  /** Whether a value may be tried to be unpacked: not one that was tried before, and of identifiers that begin alike only the first are. */
  mayTry(beginning: number, value: Buffer): boolean {
    if ((this.#failedTries?.get(beginning) ?? 0) >= failedTriesMax) return false;
    return value.length > failedValueBytes || !this.#failedValues?.has(value.toString('latin1'));
  }

  noteFailedTry(beginning: number, value: Buffer): void {
    this.#failedTries ??= new Map();
    this.#failedValues ??= new Set();
    const count = this.#failedTries.get(beginning);
    if (count !== undefined || this.#failedTries.size < beginningsMax)
      this.#failedTries.set(beginning, 1 + (count ?? 0));
    if (value.length <= failedValueBytes && this.#failedValues.size < beginningsMax)
      this.#failedValues.add(value.toString('latin1'));
  }

  tooLarge(): UnreadableError {
    return new UnreadableError(
      `The content decodes to more than the limit of ${this.#bounds.maxDecodedBytes} bytes.`,
    );
  }
}

/** For one pass over bytes that are bounded already. */
export const onePass = (): DecodeBudget =>
  new DecodeBudget({ maxDecodedBytes: Number.POSITIVE_INFINITY, depthMax: 1, isOver: () => false });
