import { Kernel, pieceBytesMax } from './kernel.ts';

/** The overlap of two pieces, so that every name stands as a whole in one of them. */
const overlap = 16;
const stepBytes = pieceBytesMax - overlap;

const kernel = new Kernel();

/**
 * Tells which names of JSON fields that number pieces stand in a text. Returns a bit for each kind; see
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
