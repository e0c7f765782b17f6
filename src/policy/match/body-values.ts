type Scalar = string | number | boolean | null;

/** Holds the values that a path leads to in all readings of a body, to compare them with what rules name. */
export class BodyValues {
  readonly #values: readonly unknown[];
  /** Folded, made for the first rule that needs them. */
  #texts: readonly string[] | undefined;
  /**
   * The least and the greatest number. Numbers in texts count. Without a number they are Infinity and
   * -Infinity.
   */
  readonly least: number;
  readonly greatest: number;
  /** A text with digits is among the values that is a number to some servers only: `5,000`, `5000 EUR`. */
  readonly hasOddNumber: boolean;

  constructor(values: readonly unknown[]) {
    this.#values = values;
    let [least, greatest, hasOddNumber] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, false];
    for (const value of values) {
      const number = toNumber(value);
      if (number === undefined) {
        hasOddNumber ||= isOddNumber(value);
        continue;
      }
      if (number < least) least = number;
      if (number > greatest) greatest = number;
    }
    this.least = least;
    this.greatest = greatest;
    this.hasOddNumber = hasOddNumber;
  }

  /**
   * Tells whether any value equals the wanted one. A number equals its text. If `isLenient`, so does what some
   * servers take for the same: a text in any case, and the words that forms have for true and false. It compares
   * one value after the other, because a hash table would be filled with keys of the caller's choice.
   */
  has(wanted: Scalar, isLenient: boolean): boolean {
    if (this.#values.some((value) => equals(value, wanted))) return true;
    if (!isLenient || wanted === null) return false;
    this.#texts ??= this.#values.filter((it) => typeof it !== 'object').map((it) => foldText(String(it)));
    const texts = typeof wanted === 'boolean' ? spellings[`${wanted}`] : [foldText(String(wanted))];
    return this.#texts.some((it) => texts.includes(it));
  }

  /**
   * Returns the sum of the numbers above 0; infinite where one is too large or too odd. A value that is no
   * number adds 0.
   */
  sum(): number {
    let sum = this.hasOddNumber ? Number.POSITIVE_INFINITY : 0;
    for (const value of this.#values) sum += Math.max(0, toNumber(value) ?? 0);
    return sum;
  }
}

function equals(value: unknown, wanted: Scalar): boolean {
  if (value === wanted) return true;
  const isMixed = (typeof value === 'number') !== (typeof wanted === 'number');
  return isMixed && toNumber(value) !== undefined && toNumber(value) === toNumber(wanted);
}

/** Texts that servers take for true and false (PHP, Rails, Go, YAML 1.1, forms of HTML). */
const spellings: Readonly<Record<`${boolean}`, readonly string[]>> = {
  true: ['true', '1', 'on', 'yes', 't', 'y'],
  false: ['false', '0', 'off', 'no', 'f', 'n'],
};

const foldText = (text: string): string =>
  (text.split('\0', 1)[0] ?? '').trim().normalize('NFKC').toLowerCase();

/**
 * Returns the number in a value; undefined where there is none. It is lenient (` +5000`, `5e3`, `05000`): a
 * limit must read as a number what some server reads as one.
 */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

const isOddNumber = (value: unknown): boolean => typeof value === 'string' && /\p{Nd}/u.test(value);
