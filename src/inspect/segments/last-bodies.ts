import { type Checkpoint, checkpointsOf } from './checkpoints.ts';

/*
 * Keeps the last bodies. Comparing a body with the next turn of its conversation takes a tenth of the time of
 * hashing both. So the checkpoints that both have are not computed again. Other bodies are hashed as a whole
 * and recognised as well.
 */

interface Met {
  owner: string;
  bytes: Buffer;
  /** The checkpoints within the kept bytes, which end at the last of them. */
  checkpoints: readonly Checkpoint[];
}

export interface LastBodiesBounds {
  readonly countMax: number;
  readonly bytesMax: number;
}

/**
 * Bound on the last checkpoints that are compared. When an answer is generated anew, the conversation goes on
 * from an earlier one.
 */
const placesMax = 4;
/** The number of bytes before a checkpoint that are compared first. */
const endBytes = 64;
const bufferBytesMin = 16_384;
/** Bound on how many times longer than wanted a buffer that is used again may be. */
const spareFactor = 4;
const noBytes = Buffer.alloc(0);

export class LastBodies {
  readonly #bounds: LastBodiesBounds;
  /** The bodies in the order in which they were last met. */
  readonly #bodies: Met[] = [];
  /**
   * Buffers that bodies have outgrown or left. Using them again keeps V8 from a full collection, which comes
   * the sooner the more is allocated.
   */
  readonly #spare: Buffer[] = [];
  #size = 0;

  constructor(bounds: LastBodiesBounds) {
    this.#bounds = bounds;
  }

  /** Returns the bytes of all buffers together. */
  get size(): number {
    return this.#size;
  }

  /** Returns the checkpoints of a body with this seed, which is compared with bodies of the same owner. */
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

  /**
   * Returns an entry without checkpoints. Where there are too many bodies, it has the buffer of the least
   * recently met one.
   */
  #room(owner: string): Met {
    const oldest = this.#bodies.length >= this.#bounds.countMax ? this.#bodies.shift() : undefined;
    return { owner, bytes: oldest?.bytes ?? noBytes, checkpoints: [] };
  }

  /** Stores a body. Up to `from` the kept bytes are equal already. */
  #keep(met: Met, bytes: Buffer, checkpoints: readonly Checkpoint[], from: number): void {
    const end = checkpoints.at(-1)?.end ?? 0;
    const { length } = met.bytes;
    met.checkpoints = checkpoints;
    if (end > length) {
      if (length > 0) this.#spare.push(met.bytes);
      const wanted = Math.max(bufferBytesMin, 2 ** Math.ceil(Math.log2(end)));
      if (wanted > this.#bounds.bytesMax) return;
      met.bytes = this.#buffer(wanted);
      bytes.copy(met.bytes, 0, 0, end);
    } else bytes.copy(met.bytes, from, from, end);
    this.#bodies.push(met);
  }

  /** Returns a buffer with room for that many bytes. Where all are in use, the oldest bodies are given up. */
  #buffer(length: number): Buffer {
    for (;;) {
      const fitting = this.#spare.findIndex((it) => it.length >= length && it.length <= spareFactor * length);
      if (fitting >= 0) return this.#spare.splice(fitting, 1)[0] as Buffer;
      if (this.#size + length <= this.#bounds.bytesMax) break;
      const unfit = this.#spare.pop();
      if (unfit) this.#size -= unfit.length;
      else this.#spare.push((this.#bodies.shift() as Met).bytes);
    }
    this.#size += length;
    return Buffer.allocUnsafeSlow(length);
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
