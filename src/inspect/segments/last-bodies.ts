import { type Checkpoint, checkpointsOf } from './checkpoints.ts';

/*
 * Keeps the last bodies. Comparing a body with the next turn of its conversation takes a tenth of the time of hashing
 * both, so common checkpoints are not computed again. Other bodies are hashed as a whole and known as well.
 */

interface Met {
  owner: string;
  bytes: Buffer;
  /** Lie within the kept bytes, which end at the last of them. */
  checkpoints: readonly Checkpoint[];
}

export interface LastBodiesBounds {
  readonly countMax: number;
  readonly bytesMax: number;
}

/** When an answer is generated anew, the conversation goes on from an earlier checkpoint. */
const placesMax = 4;
/** Number of bytes before a checkpoint are compared first. */
const endBytes = 64;
const bufferBytesMin = 16_384;

export class LastBodies {
  readonly #bounds: LastBodiesBounds;
  /** Are in the order in which they were last met. */
  readonly #bodies: Met[] = [];
  #size = 0;

  constructor(bounds: LastBodiesBounds) {
    this.#bounds = bounds;
  }

  /** Counts the bytes that are kept. */
  get size(): number {
    return this.#size;
  }

  /** Returns the checkpoints of a body with this seed, compared with bodies of the same owner. */
  checkpointsOf(bytes: Buffer, seed: string, owner: string): readonly Checkpoint[] {
    const whose = `${seed}${owner}`;
    for (let at = this.#bodies.length - 1; at >= 0; at--) {
      const met = this.#bodies[at] as Met;
      const known = met.owner === whose ? inCommon(met, bytes) : 0;
      if (known === 0) continue;
      const checkpoints = checkpointsOf(bytes, seed, met.checkpoints.slice(0, known));
      this.#bodies.splice(at, 1);
      this.#keep(met, bytes, checkpoints, met.checkpoints[known - 1]?.end ?? 0);
      return checkpoints;
    }
    const checkpoints = checkpointsOf(bytes, seed);
    if (checkpoints.length > 0) this.#keep(this.#room(whose), bytes, checkpoints, 0);
    return checkpoints;
  }

  /** Returns a new entry, or reuses the buffer of the least recently met body. */
  #room(owner: string): Met {
    const oldest = this.#bodies.length >= this.#bounds.countMax ? this.#bodies.shift() : undefined;
    return { owner, bytes: oldest?.bytes ?? Buffer.alloc(0), checkpoints: [] };
  }

  /** Stores a body. Up to `from` the kept bytes are equal already. */
  #keep(met: Met, bytes: Buffer, checkpoints: readonly Checkpoint[], from: number): void {
    const end = checkpoints.at(-1)?.end ?? 0;
    const { length } = met.bytes;
    met.checkpoints = checkpoints;
    if (end <= length) bytes.copy(met.bytes, from, from, end);
    else {
      met.bytes = Buffer.allocUnsafeSlow(Math.max(bufferBytesMin, 2 ** Math.ceil(Math.log2(end))));
      bytes.copy(met.bytes, 0, 0, end);
      this.#size += met.bytes.length - length;
    }
    this.#bodies.push(met);
    while (this.#size > this.#bounds.bytesMax) this.#size -= this.#bodies.shift()?.bytes.length ?? 0;
  }
}

/** Returns how many checkpoints two bodies share; 0 where none of the last ones is shared. */
function inCommon({ bytes, checkpoints }: Met, other: Buffer): number {
  for (let count = checkpoints.length; count > 0 && count > checkpoints.length - placesMax; count--) {
    const { end } = checkpoints[count - 1] as Checkpoint;
    const isAlike = (from: number): boolean => other.compare(bytes, from, end, from, end) === 0;
    if (end <= other.length && isAlike(Math.max(0, end - endBytes)) && isAlike(0)) return count;
  }
  return 0;
}
