/*
 * How bytes cross between the event loop and a reader thread. Long ones that go in are copied into memory that both share and that is used
 * anew for each job: to make shared memory for each would fill the machine, since V8 does not count it and collects it late. What comes out is
 * given away; what of it is part of what went in does not cross at all. Short bytes are cloned, each by itself: a clone of a view takes all
 * of its buffer along.
 */

const longBytesMin = 4_096;
const memoryBytesMin = 256 * 1024;

/** Bytes that lie in the shared memory. */
interface Place {
  readonly sharedAt: number;
  readonly sharedBytes: number;
}

const isPlace = (value: object): value is Place => 'sharedAt' in value;

/** The memory that one thread gets its jobs in, which holds one job at a time. */
export class Inbox {
  #memory: SharedArrayBuffer = new SharedArrayBuffer(memoryBytesMin);
  #isTold = false;
  #length = 0;
  readonly #placed: { readonly at: number; readonly bytes: Uint8Array }[] = [];

  /** The input ready to be sent; `memory` where the thread does not know it yet. */
  pack(input: unknown): { readonly input: unknown; readonly memory: SharedArrayBuffer | undefined } {
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
    return { input: packed, memory };
  }

  /** What came back for the job that was packed last. */
  unpack(output: unknown): unknown {
    return mapBytes(output, asBuffer, ({ sharedAt, sharedBytes }) => {
      const whole = this.#placed.find((it) => it.at <= sharedAt && sharedAt < it.at + it.bytes.length);
      if (!whole) return Buffer.alloc(0);
      return asBuffer(whole.bytes.subarray(sharedAt - whole.at, sharedAt - whole.at + sharedBytes));
    });
  }

  /** Keeps nothing of the last job alive. */
  clear(): void {
    this.#placed.length = 0;
  }

  #put(bytes: Uint8Array): Uint8Array | Place {
    if (bytes.length < longBytesMin) return Uint8Array.from(bytes);
    const sharedAt = this.#length;
    new Uint8Array(this.#memory, sharedAt, bytes.length).set(bytes);
    this.#placed.push({ at: sharedAt, bytes });
    this.#length += bytes.length;
    return { sharedAt, sharedBytes: bytes.length };
  }
}

/** The thread's side: the input as it was. */
export const unpackInput = (input: unknown, memory: SharedArrayBuffer): unknown =>
  mapBytes(input, asBuffer, ({ sharedAt, sharedBytes }) => Buffer.from(memory, sharedAt, sharedBytes));

/** The output ready to be sent, and what of it is given away. */
export function packOutput(
  output: unknown,
  memory: SharedArrayBuffer,
): { readonly output: unknown; readonly transfer: ArrayBuffer[] } {
  const transfer: ArrayBuffer[] = [];
  const packed = mapBytes(output, (it) => {
    if (it.buffer === memory && it.length > 0) return { sharedAt: it.byteOffset, sharedBytes: it.length };
    const own = Uint8Array.from(it);
    if (own.length >= longBytesMin) transfer.push(own.buffer);
    return own;
  });
  return { output: packed, transfer };
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Bytes stand in fields, in lists and in maps; objects of other kinds hold none. What holds no bytes stays the same object. */
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
