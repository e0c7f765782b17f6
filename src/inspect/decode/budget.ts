import { type FromCharset, foreignCharsetsIn } from './packed/foreign-charset.ts';

const none: readonly never[] = Object.freeze([]);

/** Bounds on what may be read; `isOver` tells whether the time is over. */
export interface Bounds {
  /** Bound on the bytes of all decoded forms together. */
  readonly maxDecodedBytes: number;
  /** Bound on the encodings inside one another that are decoded. */
  readonly depthMax: number;
  readonly isOver: () => boolean;
  /** Takes note of decoded bytes, since an archive of a few bytes may take long to read. */
  readonly onDecoded?: ((bytes: number) => void) | undefined;
  /** Runs a decoder, which cannot be interrupted, and so sees how long it takes. */
  readonly timed?: (<T>(decode: () => T) => T) | undefined;
}

/**
 * Reports that content could not be read to its end. The message is a clause that ends a sentence for the
 * caller, without content.
 */
export class UnreadableError extends Error {}

/** Tells whether the time was over, which proves nothing about the content. */
export class OutOfTimeError extends UnreadableError {}

/** The clause that says that the time was over. */
export const tookTooLong = 'reading took too long';

/**
 * The number of bytes between two looks at the clock; a decoder reads so many in well under a millisecond.
 */
const bytesPerCheck = 65_536;

/** Bounds on the failed tries of values with one beginning, and on the beginnings. */
const failedTriesMax = 64;
const beginningsMax = 4096;
/** Bound on the bytes of a value that is remembered. */
const failedValueBytes = 64;

/** Counts what decoding makes. Its methods throw an `UnreadableError` once a bound is passed. */
export class DecodeBudget {
  readonly #bounds: Bounds;
  readonly #source: Buffer | undefined;
  #charsets: { readonly convert: FromCharset | undefined } | undefined;
  #spentBytes = 0;
  #uncheckedBytes = 0;
  #failedTries: Map<number, number> | undefined;
  #failedValues: Set<string> | undefined;

  /** `source` is the content that is decoded. */
  constructor(bounds: Bounds, source?: Buffer) {
    this.#bounds = bounds;
    this.#source = source;
  }

  /** Converts decoded bytes out of the character sets that the content declares. */
  fromCharset(bytes: Buffer): readonly Buffer[] {
    this.#charsets ??= { convert: this.#source && foreignCharsetsIn(this.#source, '') };
    return this.#charsets.convert?.(bytes) ?? none;
  }

  get maxDecodedBytes(): number {
    return this.#bounds.maxDecodedBytes;
  }

  get remainingBytes(): number {
    return this.#bounds.maxDecodedBytes - this.#spentBytes;
  }

  /** Runs a decoder of the platform. */
  run<T>(decode: () => T): T {
    const { timed } = this.#bounds;
    return timed ? timed(decode) : decode();
  }

  spend(bytes: number): void {
    this.#spentBytes += bytes;
    this.#bounds.onDecoded?.(bytes);
    if (this.remainingBytes < 0) throw this.tooLarge();
    this.check();
  }

  check(): void {
    if (this.#bounds.isOver()) throw new OutOfTimeError(tookTooLong);
  }

  /** Counts bytes that were read, or similar steps; checks the time now and then. */
  work(bytes: number): void {
    this.#uncheckedBytes += bytes;
    if (this.#uncheckedBytes < bytesPerCheck) return;
    this.#uncheckedBytes = 0;
    this.check();
  }

  /**
   * Tells whether unpacking a value may be tried. It is not tried twice, and only for the first values that
   * begin alike: such values are identifiers.
   */
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
      `the content decodes to more than the limit of ${this.#bounds.maxDecodedBytes} bytes`,
    );
  }
}

/** Creates a budget for one pass over bytes that are bounded already. */
export const onePass = (): DecodeBudget =>
  new DecodeBudget({ maxDecodedBytes: Number.POSITIVE_INFINITY, depthMax: 1, isOver: () => false });
