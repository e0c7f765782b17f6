import { GatewayError } from '../errors.ts';
import { beginsEscape, readEscape } from './escapes.ts';
import { type Needle, toNeedles } from './needles.ts';

/*
 * Takes injected credentials out of what an upstream answers, before the agent sees it. Only the beginning of what may become a secret
 * is held back until the next chunk shows what it is: at most as long as the longest form of a secret.
 */

const label = '[REDACTED:credential]';
const labelBytes = Buffer.from(label);
const noBytes = Buffer.alloc(0);

/** Bytes that may stand between two of a needle: more are no line break any more. */
const skippedMax = 4;

/** Where a needle that begins at a place ends; `none`, or `more` where the bytes end first. */
const none = -1;
const more = -2;

/** Looks for the secrets of one call. */
export interface Scrub {
  /** The fields of a head or of trailers, flat: values are redacted, a field with a secret in its name is left out. */
  fields(flat: readonly string[]): string[];
  /** A body as it streams. `hasLines`: see `toNeedles`. */
  body(hasLines: boolean): ScrubbedBody;
}

export interface ScrubbedBody {
  /** What may be sent on of the bytes so far; possibly nothing. */
  push(chunk: Buffer): Buffer;
  /** What was held back. */
  end(): Buffer;
}

export function createScrub(secrets: readonly string[]): Scrub {
  const ofLines = new Haystack(toNeedles(secrets, true));
  return {
    fields(flat) {
      const scrubbed: string[] = [];
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const name = flat[i] as string;
        if (redactText(ofLines, name) === name)
          scrubbed.push(name, redactText(ofLines, flat[i + 1] as string));
      }
      return scrubbed;
    },
    body: (hasLines) => new BodyScrub(hasLines ? ofLines : new Haystack(toNeedles(secrets, false))),
  };
}

/** The upstream was asked for an answer as it is, and sent one in which nothing can be found. */
export const stillCoded = (): GatewayError =>
  new GatewayError(
    'UPSTREAM_PROTOCOL',
    'The upstream compressed its answer though it was asked not to, so it cannot be looked through for the credential.',
  );

function redactText(haystack: Haystack, text: string): string {
  return haystack.redact(Buffer.from(text, 'latin1'), true).sent.toString('latin1');
}

class BodyScrub implements ScrubbedBody {
  readonly #haystack: Haystack;
  #held = noBytes;

  constructor(haystack: Haystack) {
    this.#haystack = haystack;
  }

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const { sent, held } = this.#haystack.redact(bytes, false);
    // A copy, so that a few bytes do not keep a whole chunk.
    this.#held = held.length === 0 ? noBytes : Buffer.from(held);
    return sent;
  }

  end(): Buffer {
    const held = this.#held;
    this.#held = noBytes;
    return held.length === 0 ? held : this.#haystack.redact(held, true).sent;
  }
}

class Haystack {
  /** For each first byte the needles that may begin with it; most bytes begin none. */
  readonly #byFirst: (readonly Needle[] | undefined)[];

  constructor(needles: readonly Needle[]) {
    this.#byFirst = Array.from({ length: 256 }, (_, byte) => {
      const starting = needles.filter(
        (it) => it.accepts(it.bytes[0] ?? 0, byte) || (it.escapes && beginsEscape(byte)),
      );
      return starting.length > 0 ? starting : undefined;
    });
  }

  /** `held` is the end of the bytes in which a secret may have begun; nothing where they are the last ones. */
  redact(bytes: Buffer, isLast: boolean): { sent: Buffer; held: Buffer } {
    const parts: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      const needles = this.#byFirst[bytes[at] as number];
      const end = needles ? endOfAny(needles, bytes, at) : none;
      if (end === none || (end === more && isLast)) at++;
      else if (end === more) break;
      else {
        parts.push(bytes.subarray(from, at), labelBytes);
        from = at = end;
      }
    }
    const rest = bytes.subarray(from, at);
    return { sent: parts.length === 0 ? rest : Buffer.concat([...parts, rest]), held: bytes.subarray(at) };
  }
}

/** The furthest end of the needles that stand at this place. */
function endOfAny(needles: readonly Needle[], bytes: Buffer, at: number): number {
  let furthest = none;
  let isOpen = false;
  for (const needle of needles) {
    const end = endOf(needle, bytes, at);
    if (end === more) isOpen = true;
    else if (end > furthest) furthest = end;
  }
  return furthest === none && isOpen ? more : furthest;
}

function endOf({ bytes: needle, escapes, accepts, skips }: Needle, bytes: Buffer, start: number): number {
  let at = start;
  for (let i = 0; i < needle.length; i++) {
    if (i > 0) for (let n = 0; n < skippedMax && skips(bytes[at] ?? -1) && bytes[at] !== needle[i]; n++) at++;
    const found = bytes[at];
    if (found === undefined) return more;
    const expected = needle[i] as number;
    const escaped = escapes && beginsEscape(found) ? readEscape(bytes, at) : undefined;
    if (escaped === 'more') return more;
    if (escaped && accepts(expected, escaped.code)) at = escaped.end;
    else if (accepts(expected, found)) at++;
    else return none;
  }
  return at;
}
