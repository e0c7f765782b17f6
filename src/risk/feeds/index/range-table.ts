import type { AddressWords } from '../../../util/addresses.ts';
import type { Range } from '../range.ts';

/** Ranges of one family that do not overlap, in order. They are found by binary search. */
export interface RangeTable {
  /** The words of a bound: 1 for IPv4, 4 for IPv6. */
  readonly width: 1 | 4;
  readonly firsts: Uint32Array;
  readonly lasts: Uint32Array;
  readonly entries: Uint32Array;
}

export class RangesBuilder {
  count = 0;
  readonly #width: 1 | 4;
  #firsts = new Uint32Array(256);
  #lasts = new Uint32Array(256);
  #entries = new Uint32Array(256);

  constructor(width: 1 | 4) {
    this.#width = width;
  }

  add({ first, last }: Range, entry: number): void {
    const at = this.count++ * this.#width;
    if (at === this.#firsts.length) {
      this.#firsts = doubled(this.#firsts);
      this.#lasts = doubled(this.#lasts);
      this.#entries = doubled(this.#entries);
    }
    for (let word = 0; word < this.#width; word++) {
      this.#firsts[at + word] = first[word] ?? 0;
      this.#lasts[at + word] = last[word] ?? 0;
    }
    this.#entries[this.count - 1] = entry;
  }

  /**
   * Returns the ranges without those that lie in another one. Of two CIDRs that overlap, one always lies in
   * the other.
   */
  finish(): RangeTable {
    const width = this.#width;
    const [firsts, lasts] = [this.#firsts, this.#lasts];
    const order = Uint32Array.from({ length: this.count }, (_, at) => at).sort(
      (a, b) => compare(firsts, a, firsts, b, width) || compare(lasts, b, lasts, a, width),
    );
    let count = 0;
    for (const index of order) {
      const before = order[count - 1];
      if (before === undefined || compare(firsts, index, lasts, before, width) > 0) order[count++] = index;
    }
    const kept = order.subarray(0, count);
    const entries = kept.map((index) => this.#entries[index] ?? 0);
    return { width, firsts: boundsAt(kept, firsts, width), lasts: boundsAt(kept, lasts, width), entries };
  }
}

/** Returns the bounds of the ranges with these indexes, in this order. */
const boundsAt = (indexes: Uint32Array, bounds: Uint32Array, width: number): Uint32Array =>
  Uint32Array.from({ length: indexes.length * width }, (_, at) => {
    return bounds[(indexes[Math.floor(at / width)] ?? 0) * width + (at % width)] ?? 0;
  });

function doubled(from: Uint32Array): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(2 * from.length);
  to.set(from);
  return to;
}

/** Returns the order of two bounds as a number that is negative, 0 or positive. */
function compare(left: Uint32Array, a: number, right: Uint32Array, b: number, width: number): number {
  for (let word = 0; word < width; word++) {
    const difference = (left[a * width + word] ?? 0) - (right[b * width + word] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the share of the family's addresses that the ranges cover, 0 to 1. */
export function coverage({ firsts, lasts, width }: RangeTable): number {
  let covered = 0;
  for (let at = 0; at < firsts.length; at++) {
    const weight = 2 ** (-32 * ((at % width) + 1));
    const isLastWord = at % width === width - 1;
    covered += ((lasts[at] ?? 0) - (firsts[at] ?? 0) + (isLastWord ? 1 : 0)) * weight;
  }
  return covered;
}

/** Returns the entry of the range that has an IPv4 address; -1 where none has it. */
export function findIpv4({ firsts, lasts, entries }: RangeTable, address: number): number {
  let low = 0;
  let high = firsts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((firsts[middle] ?? 0) <= address) low = middle + 1;
    else high = middle;
  }
  return low > 0 && address <= (lasts[low - 1] ?? 0) ? (entries[low - 1] ?? -1) : -1;
}

export function findIpv6({ firsts, lasts, entries }: RangeTable, address: AddressWords): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareWords(firsts, middle, address) <= 0) low = middle + 1;
    else high = middle;
  }
  return low > 0 && compareWords(lasts, low - 1, address) >= 0 ? (entries[low - 1] ?? -1) : -1;
}

function compareWords(bounds: Uint32Array, index: number, address: AddressWords): number {
  for (let word = 0; word < 4; word++) {
    const difference = (bounds[4 * index + word] ?? 0) - (address[word] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
