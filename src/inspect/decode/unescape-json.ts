import { type PlainText, unescapeJsonInto } from '../kernel/json-unescape.ts';
import { jsonEscapes } from './forms/json-escapes.ts';
import { SpanMap } from './span-map.ts';
import { appendLiteral, Output, type Unescaped } from './unescape.ts';

/** A buffer for the text of one escape, larger than any needs. It is cleared for each escape. */
const decoded = new Output(Buffer.alloc(64));

const bytesKeptMax = 1024 * 1024;
const numbersKeptMax = 512 * 1024;

/**
 * Keeps memory for unescaped texts, used for one after another. Allocating for each would bring the next full
 * garbage collection closer. A new text makes everything invalid that was made of the one before.
 */
export class PlainSpace {
  readonly #spans = new SpanMap();
  #bytes: Buffer = Buffer.alloc(0);

  /** Returns the map, emptied. */
  get spans(): SpanMap {
    this.#spans.clear(numbersKeptMax);
    return this.#spans;
  }

  /** Returns a buffer of at least that size, with arbitrary content. */
  bytes(size: number): Buffer {
    if (size > bytesKeptMax) return Buffer.allocUnsafe(size);
    if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(size)));
    return this.#bytes;
  }
}

/**
 * Returns the text without JSON escapes; undefined where there are none. `check` is called now and then and
 * may throw. The memory of `space` is used, if it is given.
 */
export function unescapeJsonText(
  bytes: Buffer,
  check: () => void,
  space?: PlainSpace,
): Unescaped | undefined {
  const spans = space?.spans ?? new SpanMap();
  const plain = plainOf(bytes, spans, check, space);
  return plain.length === bytes.length ? undefined : { bytes: plain, spans, names: [jsonEscapes.name] };
}

/** Returns the text without JSON escapes and without a map. It uses the memory of `space`, if given. */
export const plainJson = (bytes: Buffer, space?: PlainSpace): Buffer =>
  plainOf(bytes, undefined, () => undefined, space);

function plainOf(bytes: Buffer, spans: SpanMap | undefined, check: () => void, space?: PlainSpace): Buffer {
  const plain = new Plain(bytes, spans, space?.bytes(bytes.length) ?? Buffer.allocUnsafe(bytes.length));
  unescapeJsonInto(bytes, plain, check);
  return plain.bytes;
}

class Plain implements PlainText {
  readonly #source: Buffer;
  readonly #spans: SpanMap | undefined;
  readonly #out: Output;

  constructor(source: Buffer, spans: SpanMap | undefined, room: Buffer) {
    this.#source = source;
    this.#spans = spans;
    this.#out = new Output(room);
  }

  get bytes(): Buffer {
    return this.#out.bytes.subarray(0, this.length);
  }

  get length(): number {
    return this.#out.length;
  }

  append(plain: Uint8Array, pieces: Int32Array): void {
    const out = this.#out;
    this.#spans?.addAll(pieces);
    out.bytes.set(plain, out.length);
    out.length += plain.length;
  }

  appendOther(at: number): number {
    const out = this.#out;
    const bytes = this.#source;
    decoded.length = 0;
    const length = jsonEscapes.read(bytes, at, decoded);
    if (decoded.length > 0) this.#spans?.addWhole(out.length, at, at + length);
    else if (length === 0 && this.#spans) appendLiteral(out, this.#spans, bytes, at, at + 1);
    else if (length === 0) out.push(bytes[at] as number);
    out.copy(decoded.bytes, 0, decoded.length);
    return at + Math.max(1, length);
  }
}
