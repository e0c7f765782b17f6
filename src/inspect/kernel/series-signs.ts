import { Kernel, pieceBytesMax } from './kernel.ts';

/** Overlap of two pieces, so that every name stands in one of them as a whole. */
const overlap = 16;
const stepBytes = pieceBytesMax - overlap;

const kernel = new Kernel();

/**
 * Returns which names of JSON fields number pieces, a bit for each kind; see
 * `src/inspect/kernel/assembly/series.ts`.
 */
export function seriesSigns(bytes: Uint8Array): number {
  const { length } = bytes;
  let seen = 0;
  for (let from = 0; from < length; from += stepBytes) {
    const end = Math.min(length, from + pieceBytesMax);
    kernel.take(end - from === length ? bytes : bytes.subarray(from, end));
    seen |= kernel.exports.seriesSigns(end - from);
  }
  return seen;
}
