import { hash } from 'node:crypto';

/** Chance that comes out the same every time. */
export interface Random {
  /** 0 <= n < 1 */
  fraction(): number;
  /** Both bounds included. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** By weight. */
  pickWeighted<T>(list: readonly (readonly [number, T])[]): T;
  exponential(mean: number): number;
  /** How sizes of messages and pauses are spread: most are small, few are large. `sigma` is that of the logarithm. */
  logNormal(median: number, sigma: number): number;
  text(alphabet: string, length: number): string;
}

/** SFC32 (Doty-Humphrey), which passes the usual batteries of tests; what has another name has another stream. */
export function createRandom(name: string): Random {
  const seed = Buffer.from(hash('sha256', name), 'hex');
  let [a, b, c, d] = [seed.readInt32LE(0), seed.readInt32LE(4), seed.readInt32LE(8), 1];

  function fraction(): number {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }
  for (let round = 0; round < 12; round += 1) fraction();

  const integer = (min: number, max: number): number => min + Math.floor(fraction() * (max - min + 1));
  /** Box and Muller. */
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction());

  function pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error('there is nothing to pick from');
    return list[integer(0, list.length - 1)] as T;
  }

  function pickWeighted<T>(list: readonly (readonly [number, T])[]): T {
    let rest = fraction() * list.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, it] of list) {
      rest -= weight;
      if (rest < 0) return it;
    }
    return pick(list)[1];
  }

  return {
    fraction,
    integer,
    chance: (probability) => fraction() < probability,
    pick,
    pickWeighted,
    exponential: (mean) => -Math.log(1 - fraction()) * mean,
    logNormal: (median, sigma) => median * Math.exp(sigma * normal()),
    text: (alphabet, length) =>
      Array.from({ length }, () => alphabet[integer(0, alphabet.length - 1)]).join(''),
  };
}
