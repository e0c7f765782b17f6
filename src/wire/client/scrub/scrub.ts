import { type Haystack, makeHaystack, type SecretPlace } from './haystack.ts';

/*
 * Takes injected credentials out of what an upstream answers, before the agent sees it. The end of a body is
 * held back until more of it is there. How much is held back depends on places alone, never on the bytes that
 * stand there. The agent may have had guesses stored in that body, and would learn from what is sent at
 * once how much of a guess is right.
 */

const label = '[REDACTED:credential]';
const labelBytes = Buffer.from(label);
const noBytes = Buffer.alloc(0);
const lineFeed = 0x0a;

/** A search for the secrets of one credential. */
export type Scrub = ReturnType<typeof createScrub>;

export interface ScrubbedBody {
  /**
   * Returns the bytes that may be sent on, perhaps none. Held bytes are searched again, so bytes that come
   * together should be given together.
   */
  push(chunk: Buffer): Buffer;
  /** Returns the held bytes, redacted. */
  end(): Buffer;
}

/** Makes a scrub in steps, each of which is short: of many long secrets it takes a while. */
export function* makeScrub(secrets: readonly string[]): Generator<undefined, Scrub> {
  return createScrub(yield* makeHaystack(secrets));
}

function createScrub(haystack: Haystack) {
  return {
    /** Redacts flat fields of a head or trailers. A field with a secret in its name is left out. */
    fields(flat: readonly string[]) {
      const scrubbed: string[] = [];
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const name = flat[i] as string;
        if (redactText(haystack, name) === name)
          scrubbed.push(name, redactText(haystack, flat[i + 1] as string));
      }
      return scrubbed;
    },
    /**
     * Returns the scrub of a body that streams. With `isByLine` each line is a message, which must not wait
     * for the next one. Nothing is looked for that goes over the end of a line. Else the last bytes wait, as
     * many as the longest form of a secret takes.
     */
    body: (isByLine: boolean) => new BodyScrub(haystack, isByLine, toLabel),
    /**
     * Returns the scrub of messages that have a length before them. A secret becomes as many asterisks as it
     * had bytes, since its field in protobuf has a length, too.
     */
    message: () => new BodyScrub(haystack, false, toAsterisks),
  };
}

function redactText(haystack: Haystack, text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  const places = haystack.find(bytes, bytes.length, false);
  return places.length === 0 ? text : redact(bytes, places, bytes.length, toLabel).sent.toString('latin1');
}

class BodyScrub implements ScrubbedBody {
  readonly #haystack: Haystack;
  readonly #isByLine: boolean;
  readonly #toFiller: ToFiller;
  #held = noBytes;

  constructor(haystack: Haystack, isByLine: boolean, toFiller: ToFiller) {
    this.#haystack = haystack;
    this.#isByLine = isByLine;
    this.#toFiller = toFiller;
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const lineEnd = this.#isByLine ? bytes.lastIndexOf(lineFeed) + 1 : 0;
    const { sent, held } = this.#take(bytes, Math.max(lineEnd, bytes.length - this.#haystack.bytesMax));
    // This is a copy, so that a few bytes do not keep a whole chunk.
    this.#held = Buffer.from(held);
    return sent;
  }

  end(): Buffer {
    const bytes = this.#held;
    this.#held = noBytes;
    return this.#take(bytes, bytes.length).sent;
  }

  #take(bytes: Buffer, to: number): { sent: Buffer; held: Buffer } {
    if (to <= 0) return { sent: noBytes, held: bytes };
    return redact(bytes, this.#haystack.find(bytes, to, this.#isByLine), to, this.#toFiller);
  }
}

/**
 * Returns what replaces so many bytes. `isRest` says that they are the rest of a place which overlaps the one
 * before.
 */
type ToFiller = (length: number, isRest: boolean) => Buffer;
const toLabel: ToFiller = (_, isRest) => (isRest ? noBytes : labelBytes);
const toAsterisks: ToFiller = (length) => Buffer.alloc(length, '*');

/**
 * Redacts the bytes up to `to`, or to the end of a place that begins before. Returns the bytes behind them,
 * too.
 */
function redact(
  bytes: Buffer,
  places: readonly SecretPlace[],
  to: number,
  toFiller: ToFiller,
): { sent: Buffer; held: Buffer } {
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end } of places) {
    if (end <= from) continue;
    if (start >= from) parts.push(bytes.subarray(from, start), toFiller(end - start, false));
    else parts.push(toFiller(end - from, true));
    from = end;
  }
  const rest = bytes.subarray(from, Math.max(from, to));
  return {
    sent: parts.length === 0 ? rest : Buffer.concat([...parts, rest]),
    held: bytes.subarray(Math.max(from, to)),
  };
}
