/*
 * Moves bytes between the event loop and a reader thread. Long input is copied into memory that both share
 * and that is used anew for each job. V8 collects shared memory late, so allocating it for each job would
 * fill the machine. All bytes of an output are copied into one buffer, which is transferred. Output that is
 * part of the input does not move at all. Short bytes of an input are copied one by one, because a clone of a
 * view takes its whole buffer along.
 */

const longBytesMin = 4_096;
const memoryBytesMin = 256 * 1024;
/** Bound on the bytes copied in a turn of the event loop. In untouched memory they take a millisecond. */
const bytesPerTurn = 256 * 1024;

/** The place of bytes in the shared memory of an input, or in the buffer of an output. */
interface Place {
  readonly placedIn: 'input' | 'output';
  readonly at: number;
  readonly length: number;
}

const isPlace = (value: object): value is Place => 'placedIn' in value;

interface Placed {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Returns a function that copies as much as fits into one turn, and returns whether more is left. */
function copying(memory: SharedArrayBuffer, placed: readonly Placed[]): () => boolean {
  let index = 0;
  let from = 0;
  return () => {
    for (let room = bytesPerTurn; room > 0; ) {
      const next = placed[index];
      if (!next) return false;
      const piece = next.bytes.subarray(from, from + room);
      new Uint8Array(memory, next.at + from, piece.length).set(piece);
      room -= piece.length;
      from += piece.length;
      if (from < next.bytes.length) continue;
      index += 1;
      from = 0;
    }
    return index < placed.length;
  };
}

/** Holds the memory in which one thread receives its input, one job at a time. */
export class Inbox {
  #memory: SharedArrayBuffer = new SharedArrayBuffer(memoryBytesMin);
  #isTold = false;
  #length = 0;
  readonly #placed: Placed[] = [];

  /**
   * Packs the input for sending. `memory` is undefined where the thread has it already. All of the input is
   * copied only when `copyNext` has returned false.
   */
  pack(input: unknown): {
    readonly packed: { readonly input: unknown; readonly memory: SharedArrayBuffer | undefined };
    readonly copyNext: () => boolean;
  } {
    let length = 0;
    mapBytes(input, (it) => {
      if (it.length >= longBytesMin) length += it.length;
      return it;
    });
    if (length > this.#memory.byteLength) {
      this.#memory = new SharedArrayBuffer(2 ** Math.ceil(Math.log2(length)));
      this.#isTold = false;
    }
    this.#length = 0;
    this.#placed.length = 0;
    const packed = mapBytes(input, (it) => this.#put(it));
    const memory = this.#isTold ? undefined : this.#memory;
    this.#isTold = true;
    return { packed: { input: packed, memory }, copyNext: copying(this.#memory, [...this.#placed]) };
  }

  /** Restores the output of the job that was packed last. */
  unpack({ output, bytes }: PackedOutput): unknown {
    return mapBytes(output, asBuffer, ({ placedIn, at, length }) => {
      if (placedIn === 'output') return Buffer.from(bytes, at, length);
      const whole = this.#placed.find((it) => it.at <= at && at < it.at + it.bytes.length);
      return whole ? asBuffer(whole.bytes.subarray(at - whole.at, at - whole.at + length)) : Buffer.alloc(0);
    });
  }

  /** Releases the bytes of the last job. */
  clear(): void {
    this.#placed.length = 0;
  }

  #put(bytes: Uint8Array): Uint8Array | Place {
    const { length } = bytes;
    if (length < longBytesMin) return Uint8Array.from(bytes);
    const at = this.#length;
    this.#placed.push({ at, bytes });
    this.#length += length;
    return { placedIn: 'input', at, length };
  }
}

/** Restores the input, in the thread. */
export const unpackInput = (input: unknown, memory: SharedArrayBuffer): unknown =>
  mapBytes(input, asBuffer, ({ at, length }) => Buffer.from(memory, at, length));

/**
 * An output for sending. The buffer has all bytes of it that are not part of the input, and is given away.
 */
export interface PackedOutput {
  readonly output: unknown;
  readonly bytes: ArrayBuffer;
}

export function packOutput(output: unknown, memory: SharedArrayBuffer): PackedOutput {
  const own: Uint8Array[] = [];
  let ownLength = 0;
  const packed = mapBytes(output, (it): Place => {
    const { length } = it;
    if (it.buffer === memory && length > 0) return { placedIn: 'input', at: it.byteOffset, length };
    const at = ownLength;
    own.push(it);
    ownLength += length;
    return { placedIn: 'output', at, length };
  });
  const bytes = Buffer.allocUnsafeSlow(ownLength);
  let at = 0;
  for (const it of own) {
    bytes.set(it, at);
    at += it.length;
  }
  return { output: packed, bytes: bytes.buffer };
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/**
 * Maps all bytes in fields, lists and maps; other objects hold none. A value without bytes is returned as it
 * is.
 */
function mapBytes(
  value: unknown,
  map: (bytes: Uint8Array) => Uint8Array | Place,
  mapPlace?: (place: Place) => Uint8Array,
): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Set) return value;
  if (value instanceof Uint8Array) return map(value);
  if (Array.isArray(value)) {
    let list: unknown[] | undefined;
    for (let i = 0; i < value.length; i++) {
      const mapped = mapBytes(value[i], map, mapPlace);
      if (mapped === value[i]) continue;
      list ??= [...value];
      list[i] = mapped;
    }
    return list ?? value;
  }
  if (value instanceof Map) return new Map([...value].map(([key, it]) => [key, mapBytes(it, map, mapPlace)]));
  if (mapPlace && isPlace(value)) return mapPlace(value);
  const fields: Readonly<Record<string, unknown>> = value as Record<string, unknown>;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const mapped = mapBytes(fields[name], map, mapPlace);
    if (mapped === fields[name]) continue;
    copy ??= { ...fields };
    copy[name] = mapped;
  }
  return copy ?? value;
}
