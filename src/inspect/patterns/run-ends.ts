import { bitsOf, has, headLengthMax } from './alphabet.ts';
import { type ByteSet, isSubset, overlap } from './byte-set.ts';
import { edgeBytesOf } from './first-bytes.ts';
import type { Node } from './pattern-syntax.ts';

/** Finds the ends of runs of some bytes. Where starts come in order, no byte is read twice. */
export class RunEnds {
  readonly #bytes: Uint8Array;
  readonly #byteBits: Int32Array;
  /** The last run, as far as it was read. */
  #from = 0;
  #to = 0;

  constructor(bytes: Uint8Array, byteBits: Int32Array) {
    this.#bytes = bytes;
    this.#byteBits = byteBits;
  }

  /** Returns the end of the run that begins at `start`, or `limit` where it is longer. */
  endOf(start: number, limit: number): number {
    const to = Math.min(limit, this.#bytes.length);
    let end = this.#from <= start && start <= this.#to ? this.#to : start;
    while (end < to && has(this.#byteBits, this.#bytes[end] as number)) end += 1;
    this.#from = start;
    this.#to = end;
    return Math.min(end, to);
  }
}

/** A run of bytes near the start of any match, that nothing but its end can follow. */
export interface FirstRun {
  readonly byteBits: Int32Array;
  /** How many bytes of a match stand before it. */
  readonly at: number;
  readonly min: number;
  readonly max: number;
}

/**
 * Returns the first run of a pattern whose matches depend on the end of the run alone, and not on where in it
 * they begin. Returns undefined for other patterns.
 */
export function firstRunOf(root: Node): FirstRun | undefined {
  if (root.kind !== 'sequence') return undefined;
  const at = root.items.findIndex(({ kind }) => kind !== 'set');
  const run = root.items[at];
  if (at > headLengthMax || run?.kind !== 'repeat' || run.item.kind !== 'set') return undefined;
  const { has, min, max } = { ...run, ...run.item };
  if (!endsRun(has, root.items.slice(at + 1))) return undefined;
  return { byteBits: bitsOf(has), at, min, max };
}

/** Tells whether what stands behind a run can be none of its bytes. */
function endsRun(has: ByteSet, [next, ...further]: readonly Node[]): boolean {
  if (next?.kind === 'look' && next.negative && !next.behind)
    return next.body.kind === 'set' && isSubset(has, next.body.has);
  if (next === undefined) return false;
  const { bytes, isOptional } = edgeBytesOf({ kind: 'sequence', items: [next, ...further] });
  return !isOptional && !overlap(bytes, has);
}
