import { Kernel, pieceBytesMax } from './kernel.ts';

/** What is looked for stands in one of two pieces as a whole. */
const overlap = 16;
const stepBytes = pieceBytesMax - overlap;

const kernel = new Kernel();

/** The names of JSON that say which piece of something a field is, a bit for each kind; see `src/inspect/kernel/assembly/series.ts`. */
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
