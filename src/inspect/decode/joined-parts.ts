import type { Block } from './packed/block-decoder.ts';
import type { Span } from './span-map.ts';

/** Joins parts to one value, from which only what is found in it is cut. */
export const joinedParts = (bytes: Buffer, parts: readonly Span[]): Block => ({
  start: parts[0]?.start ?? 0,
  end: parts.at(-1)?.end ?? 0,
  bytes: Buffer.concat(parts.map(({ start, end }) => bytes.subarray(start, end))),
  parts,
});
